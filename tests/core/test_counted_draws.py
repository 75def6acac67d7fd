"""Laws of counts, by chi-square at so many draws that two percent of moved mass are seen: gaps and batches."""

import numpy as np
import pytest
from scipy import stats

from dplr.noise import Source
from dplr.privacy.calibration import RATE_UNITS

LEAST = 1e-6  # significance
MOVED = 0.02


def p_value(counts, chances):
    """Of counts of 0, 1, ... and, at last, of all larger ones; cells with few are put together from the end."""
    total, expected = sum(counts), sum(counts) * np.asarray(chances)
    while expected[-1] < 10:
        expected, counts = [np.append(each[:-2], each[-2:].sum()) for each in (expected, np.asarray(counts))]
    assert total >= 50_000
    return stats.chisquare(counts, expected * (total / expected.sum())).pvalue


def counted(found, most):
    """How many are 1, 2, ..., most, and more."""
    return np.append(np.bincount(np.minimum(found, most + 1), minlength=most + 2)[1 : most + 1], (found > most).sum())


@pytest.mark.parametrize("rate", [0.5, 0.1, 1 / 300, 1 / 2000])
def test_gaps_between_sampled_rows_are_geometric(rate):
    """Gaps longer than the table of the sampler, of a thousand entries, are drawn in pieces."""
    units = round(rate * RATE_UNITS)
    rate, n = units / RATE_UNITS, int(100_000 / rate)
    gaps = np.diff(Source(3).bernoulli_indices(n, units), prepend=-1)
    width = max(1, round(0.2 / rate))  # cells of as many gaps
    cells = (gaps - 1) // width + 1
    stays = (1 - rate) ** width
    chances = stays ** np.arange(25) * (1 - stays)
    chances = np.append(chances, stays**25)
    assert p_value(counted(cells, 25), chances) > LEAST
    assert p_value(counted(cells, 25), chances + MOVED * (np.eye(26)[3] - np.eye(26)[0])) < LEAST
    if rate < 1e-3:
        assert gaps.max() > 2_000


@pytest.mark.parametrize("rate", [0.3, 0.02])
def test_sizes_of_batches_are_binomial(rate):
    units, n, source = round(rate * RATE_UNITS), 40, Source(4)
    sizes = np.array([len(source.bernoulli_indices(n, units)) for _ in range(50_000)])
    chances = stats.binom.pmf(np.arange(n + 1), n, units / RATE_UNITS)
    assert p_value(np.bincount(sizes, minlength=n + 1), chances) > LEAST
    moved = chances + MOVED * (np.eye(n + 1)[1] - np.eye(n + 1)[round(n * rate)] * 1.0)
    assert p_value(np.bincount(sizes, minlength=n + 1), moved) < LEAST or round(n * rate) == 1
