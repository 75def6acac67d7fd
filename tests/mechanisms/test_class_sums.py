"""Class sums and the intercept's cells hold one number twice: both are used (functional.md, lemma 9)."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dplr
from dplr.mechanisms.functional import one_class
from dplr.mechanisms.functional.moments import agreeing, blocks, moment_matrix
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC
from dplr.problem.problem import Problem

N = 400
LAYOUTS = {
    "ball": Geometry(3, intercept=0.5),
    "cube": Geometry(3, half_width=math.sqrt(1 / 3), intercept=0.5),
    "one-hot": Geometry(4, half_width=math.sqrt(1 / 2), intercept=0.5, blocks=((1, 3),)),
    "marked": Geometry(4, half_width=math.sqrt(1 / 3), intercept=0.5, marked=(1,)),
    "products": Geometry(4, half_width=math.sqrt(1 / 2), intercept=0.5, shared=((1, 3),)),
    "shares of knots": Geometry(4, half_width=math.sqrt(1 / 2), intercept=0.5, hats=((1, 3, 3),)),
    "one-hot alone": Geometry(3, half_width=1.0, intercept=0.5, blocks=((0, 3),)),
}
RELATIONS = list(Neighbouring)


def rows_of(geometry, rng):
    """Rows with the intercept's constant; of a one-hot block one column is set, or none."""
    X = rng.uniform(-1, 1, (N, geometry.d)) * (geometry.half_width or math.sqrt(1 / 3))
    for first, size in geometry.blocks:
        level = rng.integers(0, size + 1, N)
        X[:, first : first + size] = np.where(level[:, None] == np.arange(size), geometry.half_width, 0.0)
    for first in geometry.marked:
        X[:, first + 1] = np.where(rng.random(N) < 0.3, geometry.half_width, 0.0)
        X[X[:, first + 1] > 0, first] = 0.0
    for first, size in geometry.shared:
        X[:, first : first + size] *= rng.integers(0, size + 1, N)[:, None] == np.arange(size)
    for first, size, _ in geometry.hats:
        X[:, first : first + size] = np.maximum(1 - np.abs(rng.uniform(0, 2, (N, 1)) - np.arange(size)), 0.0) / 2
    return np.column_stack([X, np.full(N, geometry.intercept)]) if geometry.intercept else X


def sums_of(problem, classes, seed=0):
    """What a release without noise would hold, under the names of its blocks."""
    rng = np.random.default_rng(seed)
    V, y = rows_of(problem.geometry, rng), rng.integers(0, classes, N)
    moments = V.T @ V
    cells = blocks(problem.geometry, problem.counts_units)
    return {f"linear[{k}]": V[y == k].sum(0) for k in range(classes)} | {
        name: moments[where] for name, where in cells.items() if name != "linear"
    }


def planned(geometry, relation, classes, delta=0.0):
    """The problem, and the deviations of the noise on its blocks."""
    problem = Problem(LOGISTIC, geometry, relation, N, None, ())
    plan = dplr.FunctionalMechanism().plan(problem, 1.0, delta, tuple(range(classes)))
    return problem, {name: block.deviation for name, block in plan.statement.released.items()}


def vectors(problem, released, classes):
    """b of each class against the rest."""
    return np.array([moment_matrix(problem, one_class(released, k))[1] for k in range(classes)])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("classes", [3, 10])
def test_sums_that_agree_stay_as_they_are(classes, layout, relation):
    problem, deviations = planned(LAYOUTS[layout], relation, classes)
    exact = sums_of(problem, classes)
    agreed = agreeing(problem, exact, deviations)
    assert agreed.keys() == exact.keys()
    for name, values in exact.items():
        np.testing.assert_allclose(agreed[name], values, rtol=0, atol=1e-11)
    noiseless = agreeing(problem, {name: values + 0.3 for name, values in exact.items()}, dict.fromkeys(exact, 0.0))
    assert_array_equal(noiseless["linear[0]"], exact["linear[0]"] + 0.3)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("layout", ["ball", "one-hot"])
@pytest.mark.parametrize(("classes", "delta"), [(3, 0.0), (10, 0.0), (10, 1e-6)])
def test_variance_falls_as_the_lemma_says(classes, delta, layout, relation):
    """By 1 - (1 - 2/K)^2 K a / (K a + c), a the variance of a class sum, c that of the intercept's cell over iota^2."""
    geometry, draws = LAYOUTS[layout], 400
    problem, deviations = planned(geometry, relation, classes, delta)
    exact = sums_of(problem, classes)
    rng = np.random.default_rng(1)
    before, after, matrices = [], [], []
    for _ in range(draws):
        noisy = {name: values + deviations[name] * rng.normal(size=len(values)) for name, values in exact.items()}
        agreed = agreeing(problem, noisy, deviations)
        before.append(vectors(problem, noisy, classes))
        after.append(vectors(problem, agreed, classes))
        matrices.append(moment_matrix(problem, one_class(agreed, 0))[0][:-1, -1])
    a, c = deviations["linear[0]"] ** 2, (deviations["off_diagonal"] / geometry.intercept) ** 2
    tolerance = 5 * math.sqrt(2 / draws / classes)
    share = classes * a / (classes * a + c)
    expected = 1 - (1 - 2 / classes) ** 2 * share
    found = np.var(after, axis=0)[:, :-1] / (classes * a)
    assert found.mean(axis=0) == pytest.approx(np.full(geometry.d, expected), rel=2 * tolerance)
    assert np.var(before, axis=0).mean() == pytest.approx(classes * a, rel=2 * tolerance)
    count = 0.0 if relation is Neighbouring.REPLACE_ONE else (deviations["diagonal"] / geometry.intercept) ** 2
    expected = 1 - (1 - 2 / classes) ** 2 * classes * a / (classes * a + count)
    assert np.var(after, axis=0)[:, -1].mean() / (classes * a) == pytest.approx(expected, rel=2 * tolerance)
    column = np.var(matrices, axis=0) / deviations["off_diagonal"] ** 2
    assert column == pytest.approx(np.full(geometry.d, share), rel=5 * math.sqrt(2 / draws) * 1.2)
    mean = vectors(problem, exact, classes)
    error = math.sqrt(classes * a / draws)
    assert np.abs(np.mean(after, axis=0) - mean).max() < 6 * error


def test_it_is_the_weighted_least_squares_solution():
    problem, deviations = planned(LAYOUTS["cube"], Neighbouring.ADD_REMOVE, 4)
    rng = np.random.default_rng(2)
    noisy = {
        name: values + deviations[name] * rng.normal(size=len(values)) for name, values in sums_of(problem, 4).items()
    }
    agreed = agreeing(problem, noisy, deviations)
    beside = blocks(problem.geometry, problem.counts_units)["off_diagonal"][1] == 3
    told, cell = np.append(noisy["off_diagonal"][beside], noisy["diagonal"][-1]), np.ones((1, 4)) * 0.5
    for j in range(4):
        own = [deviations["linear[0]"]] * 4 + [deviations["off_diagonal" if j < 3 else "diagonal"]]
        design = np.vstack([np.eye(4), cell]) / np.array(own)[:, None]
        seen = np.append([noisy[f"linear[{k}]"][j] for k in range(4)], told[j]) / own
        solved = np.linalg.lstsq(design, seen)[0]
        assert [agreed[f"linear[{k}]"][j] for k in range(4)] == pytest.approx(solved, rel=1e-10, abs=1e-9)
        last = agreed["off_diagonal"][beside][j] if j < 3 else agreed["diagonal"][-1]
        assert last == pytest.approx(0.5 * solved.sum(), rel=1e-10, abs=1e-9)


def test_without_an_intercept_nothing_is_known_twice():
    problem, deviations = planned(Geometry(3), Neighbouring.REPLACE_ONE, 3)
    released = {name: values + 1.0 for name, values in sums_of(problem, 3).items()}
    agreed = agreeing(problem, released, deviations)
    assert all(agreed[name] is released[name] for name in released)


def test_models_of_a_fit_come_from_sums_that_agree():
    """The models of ten classes are those of the class sums and the intercept's cells together."""
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (3000, 2)) / 2, rng.integers(0, 10, 3000)
    est = dplr.fit(X, y, eps=5.0, classes=tuple(range(10)), mechanism="fm")
    problem = dplr.plan(n_rows=3000, n_features=2, eps=5.0, mechanism="fm").problem
    spec = dplr.FunctionalMechanism()
    plan = spec.plan(problem, 5.0, 0.0, tuple(range(10)))
    assert plan.statement.released == est.privacy_.released
    agreed = agreeing(
        problem, est.released_, {name: block.deviation for name, block in plan.statement.released.items()}
    )
    for k in range(10):
        assert est.coef_[k] == pytest.approx(spec.solve(plan, [one_class(agreed, k)])[0][:-1], rel=1e-9)
        assert not np.allclose(est.coef_[k], spec.solve(plan, [one_class(est.released_, k)])[0][:-1], rtol=1e-3)
