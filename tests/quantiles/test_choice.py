"""The exponential mechanism in whole numbers: its probabilities are those of the exponents."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplr.noise import Source
from dplr.quantiles.choice import choose

VECTORS = {
    "proof": [Fraction(0), Fraction(1, 2), Fraction(5, 3)],  # quantiles.md, section 5
    "one": [Fraction(0)],
    "even": [Fraction(0)] * 5,
    "far": [Fraction(0), Fraction(10**12), Fraction(7, 3), Fraction(3)],
    "least is last": [Fraction(4), Fraction(1), Fraction(0)],
}


def drawn(exponents, runs, seed=0, rough=None):
    source = Source(seed)
    bounds = np.array([float(x) for x in exponents] if rough is None else rough)
    return np.bincount([choose(bounds, exponents.__getitem__, source) for _ in range(runs)], minlength=len(exponents))


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("rough", [None, "nothing"])
def test_positions_come_with_the_probabilities_of_their_exponents(name, rough):
    exponents = VECTORS[name]
    counts = drawn(exponents, 2_000, rough=None if rough is None else [-1.0] * len(exponents))
    weights = np.exp([-float(x) for x in exponents])
    expected = counts.sum() * weights / weights.sum()
    assert not counts[expected < 1e-9].any()
    seen = expected >= 1e-9
    if seen.sum() > 1:
        assert stats.chisquare(counts[seen], expected[seen]).pvalue > 1e-4


def test_the_probabilities_of_the_proof():
    weights = np.exp([-float(x) for x in VECTORS["proof"]])
    assert np.round(weights / weights.sum(), 5).tolist() == [0.55698, 0.33782, 0.1052]


def test_a_wrong_quick_look_would_be_seen():
    """The test above can fail: bounds above the exponents change the law."""
    counts = drawn(VECTORS["proof"], 2_000, rough=[0.0, 1.0, 2.0])
    weights = np.exp([-float(x) for x in VECTORS["proof"]])
    assert stats.chisquare(counts, counts.sum() * weights / weights.sum()).pvalue < 1e-6
