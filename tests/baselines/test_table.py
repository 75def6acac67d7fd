"""A noisy table drawn without its empty cells has the law of one that lists all cells."""

import itertools
from collections import Counter

import numpy as np
import pytest
from tests.baselines.test_hits import agrees

from dplr.baselines.law import TwoSided
from dplr.baselines.table import counted, noisy, priority_sample
from dplr.noise import Source

STOP = 2**31  # a = 1/2
HUGE = (10**9,) * 5


def listed_law(counts, theta, most):
    """Of each cell: probabilities of not being kept, of theta, theta + 1, ..., and of `most` or more."""
    values = np.arange(-200, 200)
    laws = []
    for count in counts:
        noise = 0.5 ** np.abs(values - count) / 3
        kept = [noise[values == value].sum() for value in range(theta, most)]
        laws.append([noise[values < theta].sum(), *kept, noise[values >= most].sum()])
    return laws


@pytest.mark.parametrize("theta", [1, 2])
def test_lazy_table_has_the_law_of_the_listed_one(theta):
    counts, runs, most = (0, 3, 0, 1), 12_000, theta + 2
    positions = np.array([1, 3])
    seen = Counter()
    source = Source(seed=theta)
    for _ in range(runs):
        cells, values = noisy(positions, np.array([3, 1]), 4, TwoSided(STOP), theta, source)
        assert cells.tolist() == sorted(set(cells.tolist()))  # no order or repetition tells which cells are full
        outcome = [0] * 4
        for cell, value in zip(cells.tolist(), values.tolist(), strict=True):
            outcome[cell] = min(value, most) - theta + 1
        seen[tuple(outcome)] += 1
    laws = listed_law(counts, theta, most)
    outcomes = list(itertools.product(range(4), repeat=4))
    expected = [runs * np.prod([law[k] for law, k in zip(laws, each, strict=True)]) for each in outcomes]
    assert agrees([seen[each] for each in outcomes], expected)


@pytest.mark.parametrize("cells", [10**6, 10**40])
def test_false_cells_are_as_many_and_as_high_as_the_law_says(cells):
    law, theta = TwoSided(STOP), 11 if cells == 10**6 else 124
    source = Source(seed=9)
    none = np.empty(0, np.int64 if cells < 2**62 else object)
    expected = law.expected(theta, cells)
    found = [noisy(none, np.empty(0, np.int64), cells, law, theta, source) for _ in range(40)]
    total = sum(len(places) for places, _ in found)
    assert abs(total - 40 * expected) < 5 * (40 * expected) ** 0.5
    above = np.concatenate([values for _, values in found]) - theta
    assert agrees(np.bincount(above, minlength=12), total * 0.5 ** (np.arange(max(12, above.max() + 1)) + 1))
    for places, values in found:
        assert values.min() >= theta
        assert places.tolist() == sorted(set(places.tolist()))
        assert 0 <= places[0] <= places[-1] < cells


def test_every_nonempty_cell_gets_noise_however_many_rows_it_holds():
    counts = np.full(20_000, 10**6)
    cells, values = noisy(np.arange(20_000), counts, 20_000, TwoSided(STOP), 1, Source(seed=1))
    assert len(cells) == 20_000
    assert abs((values == counts).mean() - 1 / 3) < 0.02


@pytest.mark.parametrize("sizes", [(3, 4, 5), (7,), HUGE, (2, 10**9, 10**9, 3, 10**9)])
def test_rows_are_counted_in_their_cells(sizes):
    rng = np.random.default_rng(0)
    few = [rng.integers(0, min(size, 3), 500) * (1 if size < 10 else size // 3) for size in sizes]
    positions, counts = counted(few, sizes)
    exact = Counter()
    for row in zip(*(code.tolist() for code in few), strict=True):
        place = 0
        for code, size in zip(row, sizes, strict=True):
            place = place * size + code
        exact[place] += 1
    assert dict(zip(positions.tolist(), counts.tolist(), strict=True)) == exact
    assert positions.tolist() == sorted(exact)
    assert positions.dtype == (object if np.prod([float(size) for size in sizes]) > 2**62 else np.int64)


def test_released_cells_are_in_their_order_whichever_rows_come_first():
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 10, 300) for _ in range(3)]
    order = rng.permutation(300)
    one, other = (counted(each, (10, 10, 10)) for each in (codes, [code[order] for code in codes]))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_priority_sample_keeps_few_cells_and_their_total_on_average():
    counts = np.array([1, 2, 3, 50, 400])
    positions, source = np.array([3, 5, 8, 13, 21]), Source(seed=2)
    sums = np.zeros(5)
    for _ in range(20_000):
        cells, weights = priority_sample(positions, counts, 3, source)
        assert len(cells) == 3
        assert cells.tolist() == sorted(cells.tolist())
        assert (weights >= counts[np.searchsorted(positions, cells)]).all()
        sums[np.searchsorted(positions, cells)] += weights
    deviations = np.sqrt(counts * 60.0 / 20_000) + 0.05
    assert (abs(sums / 20_000 - counts) < 5 * deviations).all()


def test_priority_sample_of_few_cells_is_all_of_them():
    cells, weights = priority_sample(np.array([1, 2]), np.array([4, 5]), 2, Source(seed=0))
    assert (cells.tolist(), weights.tolist()) == ([1, 2], [4.0, 5.0])
