"""Output and objective perturbation for the computed numbers: laws of plans in rational or sixty-digit arithmetic."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit

import dplr
from dplr.bounds.scaling import ball_prep
from dplr.mechanisms.perturbation import minimisation
from dplr.mechanisms.perturbation.minimisation import noisy, to_grid
from dplr.mechanisms.perturbation.noise import linear_term as planned_term
from dplr.model_file import encode_model
from dplr.model_file.file import _FILE, decoded
from dplr.model_file.strict_json import parse
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows
from fits import often

mpmath = pytest.importorskip("mpmath")
PAIRS = 400  # of each kind


def facts(seed):
    """A problem, eps and delta: eps from 1e-6 to 5, of every size alike."""
    rng = np.random.default_rng(seed)
    eps = float(10 ** rng.uniform(-6, math.log10(5)))
    d, n = int(rng.integers(0, 12)) + 1, int(10 ** rng.uniform(1, 7))
    relation = Neighbouring(["replace_one", "add_remove"][seed % 2])
    geometry = Geometry(d, half_width=1 / math.sqrt(d)) if seed % 3 else Geometry(d, intercept=0.5)
    return Problem(LOGISTIC, geometry, relation, n, None, ()), eps, float(10 ** rng.uniform(-9, -5.5))


def units_moved(plan):
    """The norm by which rounded points of neighbours differ at most, in whole units: exactly."""
    block, solved, problem = plan.statement.released["coef"], plan.settings, plan.problem
    norm = mpmath.sqrt(mpmath.mpf(problem.geometry.radius) ** 2 + mpmath.mpf(problem.geometry.intercept) ** 2)
    records, grid = problem.neighbouring.records_changed, mpmath.mpf(block.grid)
    distance = (records * problem.loss.lipschitz * norm + 2 * mpmath.mpf(solved.tolerance)) / mpmath.mpf(solved.ridge)
    return distance / grid + mpmath.sqrt(problem.geometry.n_coefs)


@pytest.mark.parametrize("seed", range(PAIRS))
def test_pure_output_noise_costs_at_most_eps_and_hardly_less(seed):
    problem, eps, _ = facts(seed)
    plan = dplr.OutputPerturbation().plan(problem, eps, 0.0)
    block = plan.statement.released["coef"]
    with mpmath.workdps(60):
        scale = mpmath.mpf(block.scale) / mpmath.mpf(block.grid)
        cost = units_moved(plan) / scale  # theorem 1 of ideal.md: no cell of a shifted law exceeds exp(cost)
        assert cost <= mpmath.mpf(eps)
        assert cost >= mpmath.mpf(eps) * (1 - mpmath.mpf(2) ** -30)
        rounding = mpmath.sqrt(problem.geometry.n_coefs) / units_moved(plan)
        assert rounding <= mpmath.sqrt(problem.geometry.n_coefs) * 2.0**-19
        assert block.sensitivity >= units_moved(plan) * mpmath.mpf(block.grid)
    assert Fraction(block.scale) * Fraction(eps) >= Fraction(block.sensitivity)  # no quotient is rounded down


@pytest.mark.parametrize("seed", range(PAIRS))
def test_gaussian_output_noise_of_rounded_points_has_at_most_the_stated_delta(seed):
    problem, eps, delta = facts(seed)
    plan = dplr.OutputPerturbation().plan(problem, eps, delta)
    block = plan.statement.released["coef"]
    with mpmath.workdps(60):
        mu = units_moved(plan) * mpmath.mpf(block.grid) / mpmath.mpf(block.scale)
        assert mu <= mpmath.mpf(plan.statement.guarantee.mu)
        stated = mpmath.ncdf(-eps / mu + mu / 2) - mpmath.exp(eps) * mpmath.ncdf(-eps / mu - mu / 2)
        assert stated <= mpmath.mpf(delta)


def mass_of_cells(scale, low, high):
    """P(low <= round(b) <= high), b of density exp(-|b| / scale) / (2 scale)."""

    def cdf(x):
        return mpmath.exp(x / scale) / 2 if x < 0 else 1 - mpmath.exp(-x / scale) / 2

    return cdf(high + mpmath.mpf(0.5)) - cdf(low - mpmath.mpf(0.5))


@pytest.mark.parametrize("eps", [1e-6, 1e-5, 1e-4, 1e-2, 1.0, 5.0])
def test_one_coefficient_has_no_event_above_eps_which_it_had_on_a_grid_of_the_noise(eps):
    """Whole laws of two neighbours, one coefficient: every cell near the points, and far away."""
    problem = Problem(LOGISTIC, Geometry(1, half_width=1.0), Neighbouring("replace_one"), 1000, None, ())
    plan = dplr.OutputPerturbation().plan(problem, eps, 0.0)
    block = plan.statement.released["coef"]
    with mpmath.workdps(60):
        scale = mpmath.mpf(block.scale) / mpmath.mpf(block.grid)
        moved = int(mpmath.floor(units_moved(plan)))
        cells = [*range(-3, 4), *range(moved - 3, moved + 4), 10 * moved, -10 * moved]
        ratios = [mass_of_cells(scale, k, k) / mass_of_cells(scale, k - moved, k - moved) for k in cells]
        worst = mpmath.log(max(ratios))
        assert worst <= mpmath.mpf(eps)
        assert worst >= mpmath.mpf(eps) * (1 - mpmath.mpf(2) ** -17)
    # The noise of before: whole multiples of a step, of which 2^15 and a half are in a cell of the grid.
    step = 1 / (2.0**15 + 0.5)
    counts = {len(range(math.ceil((k - 0.5) / step), math.ceil((k + 0.5) / step))) for k in range(-20, 21)}
    assert math.log(max(counts) / min(counts)) > 2e-5  # of an eps of 1e-5: three times as much


@pytest.mark.parametrize("seed", range(PAIRS))
def test_both_noises_of_an_objective_add_up_to_eps_in_rational_arithmetic(seed):
    problem, eps, _ = facts(seed)
    plan = dplr.ObjectivePerturbation().plan(problem, eps, 0.0)
    block, solved = plan.statement.released["coef"], plan.settings
    cut = plan.problem.loss.lipschitz
    with mpmath.workdps(60):
        records = problem.neighbouring.records_changed
        weighted = problem.weighted(solved.weights).geometry
        norm2 = sum(mpmath.mpf(each) ** 2 for each in weighted.half_widths) if weighted.half_width else None
        norm2 = norm2 or mpmath.mpf(weighted.radius) ** 2 + mpmath.mpf(weighted.intercept) ** 2
        length = 1 if block.law.family == "gauge" or weighted.half_width else mpmath.sqrt(norm2)
        e = records * mpmath.mpf(cut) * length / mpmath.mpf(block.scale)
        kappa = norm2 / mpmath.mpf(solved.ridge)
        loss = soft_logistic_loss(e, kappa, records, mpmath.mpf(cut))
        tolerance = mpmath.mpf(2 * solved.offset) / solved.noise_units
        assert loss + tolerance <= mpmath.mpf(eps)
        assert loss + tolerance >= mpmath.mpf(eps) * (1 - mpmath.mpf(2) ** -14)


def soft_logistic_loss(e, kappa, records, cut):
    """Theorem 5 of objective.md, on a grid of slopes that holds both ends and the knee."""
    knee = 1 - mpmath.sqrt(1 - cut)
    slopes = [cut * k / 64 for k in range(65)] + [knee]
    best = max(e / records * s / cut + mpmath.log(1 + kappa * min(s * (1 - s), cut - s)) for s in slopes)
    return (records - 1) * e / records + best


@pytest.mark.parametrize("seed", range(60))
def test_the_offset_of_a_plan_covers_every_rounding(seed):
    """T in rational numbers: the tolerance, the linear term's lattice, and one unit a coordinate."""
    problem, eps, delta = facts(seed)
    plan = dplr.ObjectivePerturbation().plan(problem, eps, delta if seed % 4 == 3 else 0.0)
    solved, size = plan.settings, problem.geometry.n_coefs
    with mpmath.workdps(60):
        root = mpmath.sqrt(size)
        moved = (mpmath.mpf(solved.tolerance) + root * mpmath.mpf(solved.unit) / 2) / mpmath.mpf(solved.ridge)
        assert root * moved / mpmath.mpf(solved.lattice) + size <= solved.offset
        assert solved.offset <= root * moved / mpmath.mpf(solved.lattice) * (1 + mpmath.mpf(2) ** -5) * (1 + 1e-9)
    assert Fraction(2 * solved.offset, solved.noise_units) <= Fraction(2.0**-8 * eps)


# Pairs of eps and ridge at which floats find a noise whose loss is above eps in its last bit: one in a thousand does.
CLOSE_PAIRS = [
    (0.05130754434724219, 4.748646630486125),
    (0.3522519738546499, 0.592042682242428),
    (1.219819119600044e-05, 20494.718420679594),
    (0.9987633377499173, 0.1457792313228063),
    (0.04421766904564836, 5.529769630646406),
    (0.19160501937555277, 1.183756839652494),
    (1.002824643594818e-05, 24929.46035576768),
    (0.8819490143601484, 0.1766031653020826),
]


@pytest.mark.parametrize(("eps", "ridge"), CLOSE_PAIRS)
def test_a_curvature_that_takes_nearly_all_of_eps_leaves_room_for_the_rounding_of_its_own_loss(eps, ridge):
    """Theorem 2 in sixty digits, where one record's curvature leaves next to nothing of eps to its gradient."""
    problem = Problem(LOGISTIC, Geometry(2), Neighbouring("add_remove"), 1000, None, ())
    term = planned_term("tight", problem, eps, 0.0, ridge)
    with mpmath.workdps(60):
        norm = mpmath.mpf(problem.geometry.row_norm)
        e, kappa = norm / mpmath.mpf(term.scale), norm**2 / mpmath.mpf(ridge)
        root = mpmath.sqrt((2 * kappa - e * kappa) ** 2 + 4 * e * kappa * (e + kappa))
        p = min(1, 2 * (e + kappa) / (2 * kappa - e * kappa + root))
        assert e * p + mpmath.log(1 + kappa * p * (1 - p)) <= mpmath.mpf(eps)


@pytest.mark.parametrize(
    ("rows", "l2", "named"),
    [(10**10, 1e-16, "`l2` must be at least"), (2**35 + 1, 1e-3, f"`n_rows` must be at most {2**35}:")],
)
@pytest.mark.parametrize("spec", [dplr.OutputPerturbation(), dplr.ObjectivePerturbation(cut=None)])
def test_what_no_theorem_of_the_solver_covers_is_refused_by_public_facts(spec, rows, l2, named):
    problem = Problem(LOGISTIC, Geometry(1), Neighbouring("replace_one"), rows, l2, ())
    with pytest.raises(ValueError, match=named):
        spec.plan(problem, 20.0, 0.0)
    assert spec.plan(replace(problem, n_rows=2**35, l2=1e-3), 20.0, 0.0).settings.passes > 0
    # Under add_remove there may be sixteen times as many.
    with pytest.raises(ValueError, match=f"`n_rows` must be at most {2**31}:"):
        spec.plan(replace(problem, neighbouring=Neighbouring("add_remove"), n_rows=2**32, l2=1e-3), 20.0, 0.0)


def test_the_least_ridge_that_a_refusal_names_is_accepted():
    spec = dplr.OutputPerturbation()
    problem = Problem(LOGISTIC, Geometry(1), Neighbouring("replace_one"), 10**10, 1e-16, ())
    with pytest.raises(ValueError, match="`l2` must be at least") as refusal:
        spec.plan(problem, 20.0, 0.0)
    least = float(re.search("at least ([^ ]+)", str(refusal.value)).group(1))
    assert spec.plan(replace(problem, l2=least * 1.01), 20.0, 0.0).settings.ridge > 0


# Twins: a release that lacks one of its parts gives away which of two data sets it was made from.

RUNS = 300
NOISE = dplr.ObjectivePerturbation(cut=None)
PREP = ball_prep(1, False, (-1.0, 1.0))
ONE = Problem(LOGISTIC, PREP.geometry, Neighbouring("replace_one"), 100, 0.2, ())
COLUMN = np.linspace(-1, 1, 500)[:, np.newaxis]
LABELS = np.where(np.arange(100) % 3, 1.0, -1.0)


def column(last):
    """A column of which the last number is replaced."""
    return np.append(np.linspace(-1, 1, 99), last)


def rows_of(last):
    return ArrayRows(column(last)[:, np.newaxis], LABELS, PREP)


def linear_term(w, last, ridge):
    """The linear term with which w is the minimum."""
    v = LABELS * column(last)
    return v @ expit(-v * w) - ridge * w


def share_near(numbers, unit):
    """The share of numbers within a fifth of the unit of a whole multiple of it."""
    units = np.array(numbers) / unit
    return np.mean(np.abs(units - np.rint(units)) < 0.2)


def test_a_linear_term_on_a_coarse_lattice_tells_the_data_set_in_one_release_and_the_real_one_does_not():
    """It lies on the lattice for the right data set, and the second noise is too small to hide that."""
    plan = NOISE.plan(ONE, 1.0, 0.0)
    told = {}
    for name, unit in {"real": plan.settings.unit, "coarse": 1.0}.items():
        settings = replace(plan.settings, unit=unit)
        fits = often(NOISE, rows_of(1.0), replace(plan, settings=settings), Source(3), RUNS)
        for last in (1.0, 0.0):  # a row of 0 has no gradient, and one of 1 about half a unit
            told[name, last] = share_near([linear_term(fit.coef[0], last, settings.ridge) for fit in fits], 1.0)
    assert told["coarse", 1.0] > 0.9
    assert told["coarse", 0.0] < 0.1
    assert abs(told["real", 1.0] - 0.4) < 0.1  # as for numbers anywhere
    assert abs(told["real", 0.0] - 0.4) < 0.1


def test_a_point_that_is_not_rounded_is_seen_in_one_release_of_output_perturbation_and_the_real_one_is_not(monkeypatch):
    """Noise on a lattice beside a point that is not on it: the difference to the right candidate is whole."""
    spec = dplr.OutputPerturbation()
    plan = spec.plan(ONE, 1.0, 0.0)
    grid = plan.statement.released["coef"].grid
    minimum = minimisation.minimise(rows_of(1.0), plan)
    other = minimum + 0.4 * grid
    real = [fit.coef for fit in often(spec, rows_of(1.0), plan, Source(3), RUNS)]
    monkeypatch.setattr(minimisation, "noisy", lambda point, lattice, noise: point + noise * lattice)
    monkeypatch.setattr(minimisation, "to_grid", lambda coef, grid: coef)
    twin = [fit.coef for fit in often(spec, rows_of(1.0), plan, Source(3), RUNS)]

    def fits(releases, candidate):
        units = (np.array(releases) - candidate) / grid
        return np.mean(np.abs(units - np.rint(units)) < 0.01)

    assert (fits(twin, minimum), fits(twin, other)) == (1.0, 0.0)
    assert fits(real, minimum) == fits(real, other) == 0.0
    assert fits(real, 0.0 * minimum) == 1.0  # on a public lattice, whatever the point was


def test_without_the_second_noise_every_release_tells_on_which_side_of_a_cell_its_point_was():
    """Two data sets whose minima are one unit of the lattice apart, and the same linear term."""
    plan = dplr.ObjectivePerturbation().plan(facts(1)[0], 1.0, 0.0)
    solved = plan.settings
    points = [np.array([0.49 * solved.lattice]), np.array([0.51 * solved.lattice])]
    silent = [noisy(point, solved.lattice, np.zeros(1, np.int64)) for point in points]
    assert (silent[0] != silent[1]).all()
    scale, runs = solved.noise_units, 2_000
    hidden = [
        [noisy(point, solved.lattice, Source(seed).laplace(scale, 1))[0] / solved.lattice for seed in range(runs)]
        for point in points
    ]
    share = [np.mean(np.array(each) > 0) for each in hidden]
    assert abs(share[0] - share[1]) < 0.01


def test_whole_units_and_noise_are_added_exactly_whatever_their_size():
    lattice = 2.0**-70
    point, noise = np.array([0.3, -5.5, 2.0**40]), np.array([3, -(2**61), 1], dtype=object)
    for number, extra, sum_ in zip(point, noise, noisy(point, lattice, noise.copy()), strict=True):
        units = round(Fraction(number) / Fraction(lattice)) + extra
        assert sum_ == float(units) * lattice
    assert noisy(np.array([0.7, -0.7, 2.6]), 1.0, np.zeros(3, np.int64)).tolist() == [1.0, -1.0, 3.0]
    assert np.signbit(to_grid(noisy(np.array([-0.0]), 1.0, np.array([0])), 1.0)).sum() == 0


def read_as_before(mechanism):
    """The model of a file whose statement says what those of earlier versions said."""
    est = dplr.fit(COLUMN, COLUMN[:, 0] > 0, eps=1.0, mechanism=mechanism, bounds=dplr.Bounds([(-1, 1)]))
    text = encode_model(est).decode()
    assert '"arithmetic": "integer"' in text
    return decoded(_FILE.text(parse(text.replace('"integer"', '"real-arithmetic"').encode())["model"]))


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_a_file_of_before_keeps_its_word(mechanism):
    est = read_as_before(mechanism)
    assert est.privacy_.arithmetic == "real-arithmetic"
    assert "Proved for real numbers" in str(est.privacy_.brief)


@pytest.mark.parametrize("mechanism", ["fm"])
def test_a_mechanism_that_always_was_exact_has_no_such_file(mechanism):
    with pytest.raises(dplr.model_file.ModelFileError, match="arithmetic` must be integer"):
        read_as_before(mechanism)
