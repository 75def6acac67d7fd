"""Persons: from ids and weights to how much each row counts."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from dplr.rows.persons import row_weights

UNIT = 2**30


def weights_of(n, person=None, k=1, w=None, cap=None, factors=None, strict=False):
    return row_weights(n, person, k, w, cap, factors, strict)


def exact(m, k, w, cap, factor):
    """The weight of a row of a person with m rows, as a fraction, before it is rounded down."""
    share = Fraction(1, max(m, k)) * Fraction(factor)
    if w is None:
        return share
    return share * min(Fraction(w), Fraction(cap)) / Fraction(cap) if 0 < w < math.inf else Fraction(0)


rows_strategy = st.lists(
    st.tuples(
        st.one_of(st.integers(-3, 3), st.integers(), st.text(max_size=3)),
        st.one_of(st.floats(), st.integers(0, 8).map(lambda j: j / 4)),
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1 / 3, 1.0])),
    ),
    min_size=1,
    max_size=40,
)


@given(
    rows_strategy, st.integers(1, 5), st.sampled_from([None, 1.0, 2.0, 3.0, 0.1, 1e-310, 1e300, 5e-324]), st.booleans()
)
@settings(max_examples=300, deadline=None)
def test_weights_are_those_of_fractions_rounded_down(rows, k, cap, with_factors):
    ids, given_weights, given_factors = zip(*rows, strict=True)
    factors = np.array(given_factors) if with_factors else None
    found = weights_of(len(rows), list(ids), k, given_weights if cap else None, cap, factors, strict=True)
    persons = {}
    for place, one in enumerate(ids):
        if one != "":
            persons.setdefault(str(one), []).append(place)
    assert found.units == max(1, len(persons))
    units = found.of_rows * UNIT
    for places in persons.values():
        assert len({found.persons[place] for place in places}) == 1
        assert sum(Fraction(found.of_rows[place]) for place in places) <= 1
        for place in places:
            wanted = exact(
                len(places), k, given_weights[place] if cap else None, cap, given_factors[place] if with_factors else 1
            )
            assert units[place] == math.floor(wanted * UNIT)
    assert not any(units[place] for place, one in enumerate(ids) if one == "")
    named = [found.persons[places[0]] for places in persons.values()]
    assert len(set(named)) == len(persons)
    assert set(found.persons) <= set(range(found.units))
