"""Secret splits: their exact laws, and the exact loss of sums of the parts of sorted tables (splits.md)."""

import collections
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dplr.noise import Source
from dplr.noise.splits import part_sizes, secret_parts, split_source

EPS = 1.0
HALVES, THIRDS = [Fraction(1, 2)] * 2, [Fraction(1, 3)] * 3


class Script:
    """A source of these words, one list after the other."""

    def __init__(self, *words):
        self._words = list(words)

    def words(self, size):
        found = np.array(self._words.pop(0), np.uint64)
        assert len(found) == size
        return found


def scripts(n, k, relation):
    """A source for each split that fair words make, all of one probability."""
    if relation == "replace_one":
        return [Script(order) for order in itertools.permutations(range(n))]
    middles = [(2 * part + 1) * 2**63 // k for part in range(k)]
    return [Script(words) for words in itertools.product(middles, repeat=n)]


def law(split, table, shares, relation, points, drawn):
    """The density of the noisy sums of all parts at each point, over all splits that such words make."""
    sources = scripts(len(table), len(shares), drawn)
    sums = collections.Counter(
        tuple(sum(table[row] for row in part) for part in split(source, len(table), shares, relation))
        for source in sources
    )
    found = np.zeros(len(points))
    for each, count in sums.items():
        found += count / len(sources) * np.exp(-EPS * np.abs(points - np.array(each)).sum(axis=1))
    return found


def largest_loss(split, relation, shares, n=4, drawn=None):
    """Of all pairs of tables of zeros and ones that are kept sorted by another column: a record goes to the other end.

    A record moves one sum by at most 1, so that noise of scale 1 / EPS is EPS-DP for each part.
    """
    points = np.array(list(itertools.product(range(-1, n + 2), repeat=len(shares))))
    worst = 0.0
    for first, last, *rest in itertools.product((0, 1), repeat=n + 1):
        tables = [(first, *rest), (*rest, last)] if relation == "replace_one" else [rest, (first, *rest)]
        one, other = (np.log(law(split, table, shares, relation, points, drawn or relation)) for table in tables)
        worst = max(worst, np.abs(one - other).max())
    return worst


RELATIONS = ["replace_one", "add_remove"]


@pytest.mark.parametrize("shares", [HALVES, THIRDS], ids=["halves", "thirds"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_sums_of_the_parts_of_a_sorted_table_lose_eps_and_no_more(relation, shares):
    assert 0.9 * EPS < largest_loss(secret_parts, relation, shares) <= EPS * (1 + 1e-12)


def by_position(_, n, shares, __):
    return np.array_split(np.arange(n), len(shares))


def by_a_public_seed(_, n, shares, relation):
    return secret_parts(Source(3), n, shares, relation)


def by_turns(_, n, shares, __):
    return [np.arange(part, n, len(shares)) for part in range(len(shares))]


def at_sizes(source, n, shares, _):
    return secret_parts(source, n, shares, "replace_one")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("broken", [by_position, by_a_public_seed, by_turns])
def test_the_audit_is_red_for_splits_that_are_public(broken, relation):
    assert largest_loss(broken, relation, HALVES) > 1.5 * EPS


def test_the_audit_is_red_for_sizes_that_depend_on_a_private_number_of_rows():
    assert largest_loss(at_sizes, "add_remove", HALVES, drawn="replace_one") > 1.2 * EPS


@pytest.mark.parametrize(("n", "shares"), [(4, HALVES), (5, THIRDS), (5, [Fraction(1, 5), Fraction(4, 5)])])
def test_every_split_at_public_sizes_is_as_likely_as_any_other(n, shares):
    found = collections.Counter()
    for source in scripts(n, len(shares), "replace_one"):
        parts = secret_parts(source, n, shares, "replace_one")
        assert sorted(np.concatenate(parts)) == list(range(n))
        assert [len(part) for part in parts] == part_sizes(n, shares)
        found[tuple(tuple(part) for part in parts)] += 1
    assert len(found) == math.factorial(n) // math.prod(map(math.factorial, part_sizes(n, shares)))
    assert len(set(found.values())) == 1


def test_each_row_draws_its_own_part_where_the_number_of_rows_is_private():
    shares = [Fraction(1, 5), Fraction(4, 5)]
    edge = 2**64 // 5
    tested, fitted = secret_parts(Script([edge - 1, edge, 0, 2**64 - 1]), 4, shares, "add_remove")
    assert (tested.tolist(), fitted.tolist()) == ([0, 2], [1, 3])
    sizes = [len(secret_parts(Source(seed), 40, THIRDS, "add_remove")[0]) for seed in range(300)]
    assert np.std(sizes) == pytest.approx(np.sqrt(40 * 2 / 9), rel=0.2)


def test_words_that_are_alike_are_drawn_again():
    parts = secret_parts(Script([3, 1, 3], [5, 9, 7]), 3, THIRDS, "replace_one")
    assert [part.tolist() for part in parts] == [[0], [2], [1]]


@pytest.mark.parametrize(
    ("n", "shares", "sizes"),
    [
        (5000, [Fraction(1, 5), Fraction(4, 5)], [1000, 4000]),
        (25, [Fraction(1, 10), Fraction(9, 10)], [2, 23]),
        (103, [Fraction(1, 5)] * 5, [21, 20, 21, 20, 21]),
    ],
)
def test_sizes_of_parts(n, shares, sizes):
    assert part_sizes(n, shares) == sizes


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_split_is_new_each_time_and_that_of_a_seed_the_same(relation):
    def parts(source):
        return [part.tolist() for part in secret_parts(source, 200, HALVES, relation)]

    drawn = {str(parts(split_source(None))) for _ in range(300)}
    assert len(drawn) == 300  # a split of one byte has 256
    with pytest.warns(UserWarning, match="rng is set"):
        assert parts(split_source(3)) == parts(split_source(3)) != parts(Source(3))
