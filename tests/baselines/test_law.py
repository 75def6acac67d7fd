"""The noise that is planned for a table has a ratio of at least exp(-eps / sensitivity), and its numbers are exact."""

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest

from dplr.baselines.law import TwoSided, bins_per_column, two_sided, usual_threshold
from dplr.privacy.sensitivity import cell_counts

UNIT = Fraction(1, 2**32)
LEVELS = [1e-9, 1e-6, 0.001, 0.1, 0.7, 1.0, math.log(2), 3.0, 20.0, 44.0, 44.5, 60.0, 1e6, 1e300]


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("eps", LEVELS)
def test_ratio_is_the_least_multiple_of_a_unit_that_keeps_the_promise(eps, sensitivity):
    law = two_sided(eps, sensitivity)
    with decimal.localcontext(decimal.Context(prec=200)):
        wanted = Fraction((-decimal.Decimal(eps) / sensitivity).exp())  # off by far less than a unit
    assert law.ratio >= wanted
    assert law.ratio - UNIT < wanted or law.stop == 2**32 - 1


def test_infinite_eps_has_no_noise():
    law = two_sided(math.inf, 2)
    assert (law.ratio, law.scale, law.passing(1)[0], law.expected(1, 10**9)) == (0, 0.0, 0, 0.0)


# Units of 1 - a for eps and sensitivity: floor(2^32 (1 - exp(-eps / sensitivity))), by the power series in fractions.
VECTORS = {
    (0.1, 1): 408_720_177,
    (0.1, 2): 209_468_026,
    (0.8, 1): 2_365_114_089,
    (0.8, 2): 1_415_964_620,
    (1.0, 2): 1_689_937_948,
    (6.4, 1): 4_287_830_961,
}


@pytest.mark.parametrize(("case", "stop"), VECTORS.items())
def test_vectors_of_the_noise(case, stop):
    assert two_sided(*case).stop == stop


@pytest.mark.parametrize("stop", [2, 10**6, 2**31, 2**32 - 1])
@pytest.mark.parametrize("theta", [1, 2, 7])
def test_chance_to_pass_is_the_tail_of_the_law(stop, theta):
    law = TwoSided(stop)
    a = law.ratio
    tail = a**theta / (1 + a)  # the sum of (1 - a) / (1 + a) a^x over x >= theta
    assert Fraction(*law.passing(theta)) == tail
    assert law.expected(theta, 10**30) == pytest.approx(float(tail * 10**30), rel=1e-6)


def test_scale_is_that_of_the_discrete_laplace_law():
    law = two_sided(0.8, 2)
    assert math.exp(-1 / law.scale) == pytest.approx(float(law.ratio), rel=1e-14)


def test_bins_follow_the_printed_rule():
    for n, columns in ((370_000, 14), (370_000, 6), (10_000, 3), (500, 2), (3, 1), (1, 1)):
        m = max(n, 2)
        h = (math.sqrt(math.log(m)) / m) ** (2 / (2 + columns))
        assert bins_per_column(n, columns) == math.ceil(1 / h)
    assert [bins_per_column(370_000, columns) for columns in (14, 6, 5, 1)] == [5, 18, 28, 2203]


@pytest.mark.parametrize("cells", [10, 10**4, 25_000_000, 10**30])
@pytest.mark.parametrize("eps", [0.01, 0.8, 10.0])
def test_usual_threshold_is_the_least_at_which_a_tenth_of_n_false_cells_pass(cells, eps):
    law, n = two_sided(eps, 2), 1000
    theta = usual_threshold(law, cells, n)
    assert law.expected(theta, cells) <= n / 10 * (1 + 1e-9)
    assert theta == 1 or law.expected(theta - 1, cells) > n / 10 * (1 - 1e-9)


def test_one_record_changes_the_counts_of_a_table_by_at_most_the_sensitivity():
    rng = np.random.default_rng(0)
    worst = [0, 0]
    for _ in range(300):
        codes = rng.integers(0, 3, 6)
        counts = np.bincount(codes, minlength=3)
        replaced = np.bincount(np.append(codes[1:], rng.integers(0, 3)), minlength=3)
        removed = np.bincount(codes[1:], minlength=3)
        worst = [max(worst[k], int(abs(counts - other).sum())) for k, other in enumerate((removed, replaced))]
    assert worst == [cell_counts(1), cell_counts(2)]
