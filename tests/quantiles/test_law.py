"""Prices add up to at most eps, in fractions and by zCDP; thresholds and noise are those of the proof."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dplr.privacy import sensitivity
from dplr.privacy.composition import exact, largest_rho, pure_rho
from dplr.quantiles import selection
from dplr.quantiles.grid import LAST, STEPS
from dplr.quantiles.law import LEAST_MIDDLE, UNITS, check_enough, noise_units, prices, steps_outwards, threshold


@pytest.mark.parametrize("eps", [1e-3, 0.1, 1.0, 1 / 3, 50.0])
@pytest.mark.parametrize(("numbers", "texts"), [(1, 0), (10, 0), (3, 2), (0, 1), (997, 3)])
def test_prices_of_a_release_add_up_to_eps(eps, numbers, texts):
    price = prices(eps, 1e-6 if texts else 0.0, numbers, texts)
    if not price.concentrated:
        whole = numbers * (price.middle + 2 * price.end + price.outside) + texts * price.column
        assert whole == exact(eps)
    noise = Fraction(sensitivity.records_outside(UNITS), noise_units(price.outside, UNITS + 1))
    assert noise <= price.outside


@pytest.mark.parametrize(("numbers", "texts"), [(100, 0), (200, 50), (30, 30)])
def test_many_columns_are_added_up_by_zcdp_where_that_allows_more(numbers, texts):
    eps, delta = 1.0, 1e-6
    price = prices(eps, delta, numbers, texts)
    assert price.concentrated
    assert price.column > exact(eps) / (numbers + texts)
    e = float(price.column)
    one = ((e / 4) ** 2 + 2 * (3 * e / 10) ** 2) / 8 + pure_rho(3 * e / 20)
    allowed = largest_rho(eps, delta / 2 if texts else delta)
    assert 0.999999 * allowed <= numbers * one + texts * pure_rho(e) <= allowed
    if texts:
        assert texts * price.text_delta == pytest.approx(delta / 2)


def test_few_columns_are_added_up_plainly():
    assert not prices(1.0, 1e-6, 1, 0).concentrated
    assert not prices(1.0, 1e-6, 2, 1).concentrated
    assert prices(1.0, 1e-6, 1, 0).text_delta == 0


def test_the_vectors_of_the_proof():
    price = prices(1.0, 0.0, 10, 0)
    assert (price.column, price.middle, price.end) == (Fraction(1, 10), Fraction(1, 40), Fraction(3, 100))
    text = prices(1.0, 1e-6, 0, 1)
    assert noise_units(text.column, sensitivity.records_by_text(UNITS, 2)) == 2048
    assert text.text_delta == pytest.approx(1e-6, rel=1e-9)
    assert threshold(text.column, text.text_delta, 2, False) == 27_901
    assert [sensitivity.range_of_distance(1, changed) for changed in (1, 2)] == [1, 2]


@pytest.mark.parametrize("changed", [1, 2])
@pytest.mark.parametrize("price", [Fraction(1, 10), Fraction(3), Fraction(20)])
def test_texts_of_one_person_are_released_with_probability_delta_at_most(changed, price):
    """Exact tails of discrete Laplace noise, of one text and of as many as a person can have."""
    delta, b = 1e-5, noise_units(price, changed * UNITS)
    for shared, counts in ((False, (1,)), (True, (1, 2, 7, 64, 1024))):
        least = threshold(price, delta, changed, shared)
        shown = [
            -math.expm1(k * math.log1p(-math.exp(-(least - UNITS // k) / b) / (1 + math.exp(-1 / b)))) for k in counts
        ]
        assert 0.8 * delta < max(shown) <= delta


@pytest.mark.parametrize("eps", [1e-3, 1.0, 501.0, 1e6])
def test_levels_have_a_threshold_at_every_eps_and_the_least_delta(eps):
    price = prices(eps, 1e-300, 0, 1000)
    b = noise_units(price.column, 2 * UNITS)
    assert threshold(price.column, price.text_delta, 2, False) == pytest.approx(UNITS + 697 * b, rel=0.01)


def test_too_few_records_are_refused_with_an_eps_that_is_enough():
    price = prices(0.1, 0.0, 10, 0)
    with pytest.raises(ValueError, match="too small to learn the bounds of 10 columns from 1000 records") as error:
        check_enough(1000, price, 10, 0.1)
    needed = float(str(error.value).split("Use eps = ")[1].split()[0])
    assert needed == pytest.approx(4.0)
    check_enough(1000, prices(needed, 0.0, 10, 0), 10, needed)
    assert LEAST_MIDDLE == 100


def test_more_records_than_sums_can_hold_are_refused():
    with pytest.raises(ValueError, match="`n_rows` must be at most 4294967296"):
        check_enough(2**32 + 1, prices(1.0, 0.0, 1, 0), 1, 1.0)


def test_an_eps_that_is_too_small_for_noise_is_refused():
    with pytest.raises(ValueError, match="is too small to release a number of records"):
        noise_units(Fraction(1, 2**60), UNITS)


@pytest.mark.parametrize("around_zero", [False, True])
def test_more_records_make_ends_denser_and_powers_of_ten_never_lighter(around_zero):
    found = [steps_outwards(n, Fraction(3, 10), around_zero) for n in (10, 1_000, 2_000, 10_000, 10**9)]
    assert [steps for steps, _ in found] == sorted(steps for steps, _ in found)
    decades = [steps * weight for steps, weight in found]
    assert decades == sorted(decades)
    assert 1 < decades[0] < decades[-1] <= 36.2
    assert all(steps in (*STEPS, 1) for steps, _ in found)


@pytest.mark.parametrize("records", [10, 11])
@pytest.mark.parametrize("changed", [1, 2])
def test_no_unit_moves_the_choice_of_a_middle_or_an_end_by_more_than_its_eps_and_some_do(records, changed, monkeypatch):
    """What one record changes in the exponents, from the place where it gains most to that where it loses most."""
    exponents = []

    def note(costs, rate, steps, weight, source):
        exponents.append([rate * int(cost) for cost in costs.tolist()])
        return 0

    monkeypatch.setattr(selection, "_least", note)
    price, unit, spread = Fraction(1, 3), selection.CELL_UNITS, {selection._middle: [], selection._end: []}
    places = (0, LAST, 2 * LAST)  # negative and far out, zero, far out
    pairs = itertools.permutations(places, 2) if changed == 2 else ((place, None) for place in places)
    for pair, choice in itertools.product(pairs, spread):
        exponents.clear()
        for place in pair:
            cells = np.zeros(2 * LAST + 1, np.int64)
            cells[LAST + 5] += (records - 1) * unit
            cells[[] if place is None else place] += unit
            if choice is selection._middle:
                choice(np.concatenate([[0], np.cumsum(cells)]), records, price, changed, None)
            else:
                ends = [1.0, 2.0, 5.0]
                choice(ends, [int(cells[LAST + 1 :].sum()), int(cells[-1]), 0], unit, Fraction(1), price, None)
        one, two = exponents
        changes = [a - b for a, b in zip(one, two, strict=True)]
        spread[choice].append(max(changes) - min(changes))
    for found in spread.values():
        assert max(found) == price
