"""The solver reaches its tolerance whatever the data, proves it, reads the rows few times, and says nothing."""

import functools
import operator
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from dplr._core import CalledSums, NativeSums, cpu_paths, minimise
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm, soft_huber, soft_logistic
from dplr.rows import ALL, ArrayRows, every
from dplr.rows.losses import LossGradient
from dplr.solvers import certificate
from dplr.solvers.certificate import NotCertified, Objective, pass_limit
from loops import loop
from made_rows import make_data, make_prep
from objectives import coef_bound, plain_objective, smallest_tau

SVM, RESIDUAL = huber_svm(0.5), huber_residual(0.1)
LOSSES = [LOGISTIC, SVM, SQUARED, RESIDUAL, soft_logistic(0.3), soft_huber(0.1)]


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def data(case, n, d, loss, seed=0):
    """Rows in the ball, of a hard kind, and targets; with the way into the scaled problem."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) / np.sqrt(d)
    z = 4 * X @ rng.normal(size=d)
    if case == "separable":
        y = z > 0
    elif case == "one class":
        y = np.ones(n, bool)
    else:
        y = rng.random(n) < 1 / (1 + np.exp(-z))
    if case == "twins":
        X[:, d // 2 :] = X[:, : d - d // 2]
        X[:, 0] = 0
    if case == "scales":
        X *= 10.0 ** -np.linspace(0, 6, d)
    labels = loss.classification
    target = y.astype(float) if labels else np.clip(z, -1, 1)
    return X, target, ball_prep(d, False, (0.0, 1.0) if labels else None)


def solve(X, y, prep, objective, tau, cap=1000, **options):
    return ArrayRows(X, y, prep, **options).minimise(objective, tau, cap)


def gradient_norm(X, y, prep, objective, coef):
    gradient = reference.loss_sums(X, y, prep, objective.loss, coef)[0]
    return np.linalg.norm(gradient + objective.ridge * (coef - objective.center) + objective.linear)


@pytest.mark.grid(4)
@pytest.mark.parametrize("case", ["plain", "separable", "one class", "twins", "scales"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("l2", [1e-8, 1e-4, 10.0])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (400, 6), (300, 60), (6000, 5)])
def test_the_tolerance_is_reached_and_certified(case, loss, l2, n, d):
    X, y, prep = data(case, n, d, loss)
    objective = plain_objective(loss, l2 * n, d)
    tau = smallest_tau(loss, n, d, 1.0, objective.ridge)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coef, bound = solve(X, y, prep, objective, tau, 400)
    assert bound <= tau
    assert gradient_norm(X, y, prep, objective, coef) <= tau * (1 + 1e-9) + 1e-12 * n
    assert np.linalg.norm(coef) <= coef_bound(loss, n, 1.0, objective.ridge, 0.0, 0.0)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("l2", [1e-8, 1e-3, 1.0])
def test_five_hundred_features(loss, l2):
    X, y, prep = data("plain", 700, 500, loss)
    objective = plain_objective(loss, l2 * 700, 500)
    tau = smallest_tau(loss, 700, 500, 1.0, objective.ridge)
    assert solve(X, y, prep, objective, tau)[1] <= tau


@pytest.mark.parametrize("l2", [1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("loss", [LOGISTIC, SVM], ids=lambda loss: loss.name)
def test_linear_term_center_and_intercept_are_part_of_the_objective(path, loss, l2):
    rng = np.random.default_rng(5)
    X, y = make_data("cube", 500, 4)
    prep = make_prep("cube", 4)
    center, linear = rng.normal(size=5), 30 * rng.normal(size=5)
    objective = Objective(loss, l2 * 500, center, linear)
    norms = {"linear_norm": float(np.linalg.norm(linear)), "center_norm": float(np.linalg.norm(center))}
    tau = smallest_tau(loss, 500, 4, np.sqrt(1.25), objective.ridge, **norms)
    coef, bound = solve(X, y, prep, objective, tau)
    assert bound <= tau
    assert gradient_norm(X, y, prep, objective, coef) <= tau * (1 + 1e-9) + 1e-9


def counted(monkeypatch):
    """Every source of native sums that is made: the first of a fit is over all rows."""
    made = []

    class Counted(NativeSums):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr("dplr.rows.base.NativeSums", Counted)
    return made


@pytest.mark.parametrize(
    ("n", "d", "l2"), [(60_000, 13, 1e-3), (60_000, 13, 1e-6), (20_000, 10, 1e-3), (20_000, 100, 1e-3)]
)
def test_many_rows_are_read_nine_times_at_most(monkeypatch, n, d, l2):
    made = counted(monkeypatch)
    X, y, prep = data("plain", n, d, LOGISTIC)
    _, bound = solve(X, y, prep, plain_objective(LOGISTIC, l2 * n, d), 1e-8 * n, 9, threads=1)
    full, sample = made
    assert full.calls <= 9
    assert sample.n <= n // 8
    assert bound <= 1e-8 * n


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize(("n", "d"), [(300, 5), (9000, 4)])
def test_sums_from_python_lead_to_the_same_minimum(loss, n, d):
    X, y, prep = data("plain", n, d, loss)
    objective = plain_objective(loss, 1e-3 * n, d)
    tau = smallest_tau(loss, n, d, 1.0, objective.ridge)
    native, _ = solve(X, y, prep, objective, tau, threads=1)
    threaded, _ = solve(X, y, prep, objective, tau, threads=2)
    called, bound = solve(np.asfortranarray(X).astype(">f8"), y, prep, objective, tau, 100)
    assert bound <= tau
    for other in (threaded, called):
        assert np.linalg.norm(other - native) <= 2 * tau / objective.ridge


class Shards(ArrayRows):
    """Rows that lie in several places: sums of losses and nothing else."""

    in_memory = False

    def __init__(self, shards):
        self.shards, self.prep = shards, shards[0].prep

    def __len__(self):
        return sum(map(len, self.shards))

    @property
    def units(self):
        return sum(shard.units for shard in self.shards)

    def sum(self, query, coef, rows=ALL):
        return functools.reduce(operator.add, [shard.sum(query, coef, rows) for shard in self.shards])

    def loss_gradients(self, loss, coefs):
        query = LossGradient(loss, self.geometry.d, self.geometry.intercept > 0)
        return np.array([self.sum(query, coef).gradient for coef in coefs])

    def loss_rows(self, step=1):
        return None

    @property
    def sample_step(self):
        return self.shards[0].sample_step


def test_rows_of_any_place_are_minimised_over_their_sums():
    n, d = 3000, 4
    X, y, prep = data("plain", n, d, LOGISTIC)
    shards = Shards([ArrayRows(X[a:b], y[a:b], prep) for a, b in [(0, 7), (7, 2000), (2000, n)]])
    objectives = [plain_objective(LOGISTIC, l2 * n, d) for l2 in (1e-3, 1.5e-3)]
    tau = smallest_tau(LOGISTIC, n, d, 1.0, objectives[0].ridge)
    coefs, bounds = shards.minimise_many(objectives, tau, 500)
    assert (bounds <= tau).all()
    for coef, objective in zip(coefs, objectives, strict=True):
        expected, _ = solve(X, y, prep, objective, tau)
        alone, bound = shards.minimise(objective, tau, 500)
        assert bound <= tau
        for other in (coef, alone):
            assert np.linalg.norm(other - expected) <= 2 * tau / objective.ridge


def test_faulty_rows_of_any_place_are_refused():
    X, y, prep = data("plain", 300, 4, LOGISTIC)
    X[200, 1] = np.nan
    shards = Shards([ArrayRows(X[:100], y[:100], prep), ArrayRows(X[100:], y[100:], prep)])
    with pytest.raises(ValueError, match="1 of 300 rows with NaN"):
        shards.minimise(plain_objective(LOGISTIC, 1.0, 4), 1e-6, 100)


def test_result_does_not_depend_on_threads_in_any_bit():
    X, y, prep = data("plain", 40_000, 6, LOGISTIC)
    objective = plain_objective(LOGISTIC, 40.0, 6)
    one, two, three = (solve(X, y, prep, objective, 1e-5, threads=threads)[0] for threads in (1, 2, 3))
    assert_array_equal(one, two)
    assert_array_equal(two, three)


def test_missed_limit_raises_one_sentence_that_no_data_can_change():
    texts = set()
    for case in ("plain", "separable"):
        X, y, prep = data(case, 200, 3, LOGISTIC)
        with pytest.raises(NotCertified) as caught:
            solve(X, y, prep, plain_objective(LOGISTIC, 1e-3, 3), 1e-9, 2)
        texts.add(str(caught.value))
        assert caught.value.__cause__ is None
    assert len(texts) == 1


def test_tolerance_below_rounding_is_certified_with_more_digits_or_never():
    X, y, prep = data("plain", 200, 3, LOGISTIC)
    assert solve(X, y, prep, plain_objective(LOGISTIC, 1.0, 3), 1e-14, 30)[1] <= 1e-14
    with pytest.raises(NotCertified):  # the point itself is rounded
        solve(X, y, prep, plain_objective(LOGISTIC, 1.0, 3), 1e-18, 30)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("l2", [1e-2, 1.0])
def test_proved_limit_is_above_what_is_needed(monkeypatch, loss, l2):
    made = counted(monkeypatch)
    X, y, prep = data("separable", 500, 4, loss)
    tau = smallest_tau(loss, 500, 4, 1.0, l2 * 500)
    limit = pass_limit(loss, 500, 1.0, l2 * 500, tau)
    solve(X, y, prep, plain_objective(loss, l2 * 500, 4), tau, limit)
    assert made[0].calls <= limit


@pytest.mark.parametrize("ridge", [1e-6, 1e-100, 1e-300, 5e-324])
def test_proved_limit_of_the_smallest_ridges_is_a_number_that_the_solver_takes(ridge):
    X, y, prep = data("plain", 100, 2, LOGISTIC)
    limit = pass_limit(LOGISTIC, 10**6, 1.0, ridge, 1e-6)
    assert solve(X, y, prep, plain_objective(LOGISTIC, 1.0, 2), 1e-6, limit)[1] <= 1e-6


def test_row_outside_the_ball_is_reported_once(recwarn):
    """However often the rows are read, and whatever the refits do."""
    X, y, prep = data("plain", 300, 4, SVM)
    X[7] *= 100
    for threads in (1, 2):
        rows = ArrayRows(X, y, prep, threads=threads)
        rows.total(LossGradient(SVM, 4, False), np.zeros(4))
        objectives = refits(SVM, 300, 4, 10, 30.0, l2=1e-6)
        tau = max(smallest_tau(SVM, 300, 4, 1.0, o.ridge, float(np.linalg.norm(o.linear)), 1.0) for o in objectives)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows.minimise_many(objectives, tau, 500)
        assert not caught
    assert len(recwarn) == 2


@pytest.mark.parametrize(("gradient", "hessian"), [(1, 2), (2, 1)])
def test_sums_of_a_wrong_shape_are_refused(gradient, hessian):
    sums = CalledSums(10, 2, lambda coef, with_hessian: (np.zeros(gradient), np.eye(hessian)))
    with pytest.raises(ValueError, match="must have q entries"):
        minimise(sums, None, 1.0, np.zeros(2), np.ones(2), 1e-6, 0.0, 0.0, 10, 1.0)


@pytest.mark.parametrize("fault", [np.nan, np.inf])
def test_faults_in_the_rows_are_refused(fault):
    X, y, prep = data("plain", 9000, 3, LOGISTIC)
    X[4321, 1] = fault
    with pytest.raises(ValueError, match="must be finite; got 1 of 9000 rows"):
        solve(X, y, prep, plain_objective(LOGISTIC, 9.0, 3), 1e-5)
    with pytest.raises(ValueError, match="must be finite; got 1 of 9000 rows"):
        solve(X, y, prep, plain_objective(LOGISTIC, 9.0, 3), 1e-5, threads=2)


def test_minimum_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    X, y, prep = data("plain", 20_000, 8, LOGISTIC)
    ours, _ = solve(X, y, prep, plain_objective(LOGISTIC, 20.0, 8), 1e-6)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12, C=1 / 20.0, fit_intercept=False).fit(X, y)
    assert_allclose(ours, peer.coef_[0], atol=1e-7)


def test_rounding_bound_is_affine_in_the_norm_of_the_coefficients():
    """The loop carries it as a constant and a slope."""
    for loss in LOSSES:
        at = [certificate.gradient_rounding_bound(loss, 100, 5, 1.1, w, 2.0, 0.5, 3.0) for w in (0.0, 1.0, 1e4)]
        assert_allclose(at[2], at[0] + 1e4 * (at[1] - at[0]), rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@loop("models", [1, 5, 32, 33, 100])
@loop("d", [1, 3, 13, 40])
def test_gradients_of_many_models_are_those_of_each(path, models, loss, d):
    labels = loss.classification
    prep = make_prep("ball", d, labels=labels)
    X, y = make_data("ball", 700, d, labels=labels)
    coefs = np.random.default_rng(1).normal(size=(models, d + 1))
    rows = ArrayRows(X, y, prep)
    together = rows.loss_gradients(loss, coefs)
    for k in range(0, models, 7):
        alone = rows.sum(LossGradient(loss, d, True), coefs[k], every(1)).gradient
        assert_allclose(together[k], alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kept", [np.float64, np.float32, ">f8"])
@pytest.mark.parametrize("kind", ["ball", "cube"])
def test_many_models_skip_faulty_rows_like_one(path, kept, kind):
    prep = make_prep(kind, 4)
    X, y = make_data(kind, 1100, 4)
    X[3, 1], X[1000, 0], y[77] = np.nan, np.inf, 9.0
    rows = ArrayRows(X.astype(kept), y, prep)
    coefs = np.random.default_rng(1).normal(size=(3, 5))
    together = rows.loss_gradients(LOGISTIC, coefs)
    alone = [rows.sum(LossGradient(LOGISTIC, 4, True), coef, every(1)).gradient for coef in coefs]
    assert_allclose(together, alone, rtol=1e-10, atol=1e-10)


def refits(loss, n, d, count, noise, l2=1e-3):
    rng = np.random.default_rng(3)
    ridges = l2 * n * rng.choice([1.0, 4.0], count)
    return [Objective(loss, ridge, 0.1 * np.ones(d), noise * rng.normal(size=d)) for ridge in ridges]


@pytest.mark.grid(4)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("noise", [0.1, 10.0, 1e4])
@pytest.mark.parametrize(("n", "d"), [(400, 3), (12_000, 6)])
def test_refits_together_are_certified_and_equal_those_alone(loss, noise, n, d):
    X, y, prep = data("plain", n, d, loss)
    rows, objectives = ArrayRows(X, y, prep), refits(loss, n, d, 40, noise)
    tau = max(smallest_tau(loss, n, d, 1.0, o.ridge, float(np.linalg.norm(o.linear)), 1.0) for o in objectives)
    coefs, bounds = rows.minimise_many(objectives, tau, 500)
    assert (bounds <= tau).all()
    for coef, objective in zip(coefs[::9], objectives[::9], strict=True):
        assert gradient_norm(X, y, prep, objective, coef) <= tau * (1 + 1e-9) + 1e-12 * n
        alone, _ = rows.minimise(objective, tau, 500)
        assert np.linalg.norm(coef - alone) <= 2 * tau / objective.ridge


def test_hopeless_refits_are_solved_alone(monkeypatch):
    """Noise that moves the minimum far away, at which another's Hessian is useless."""
    X, y, prep = data("plain", 300, 4, SVM)
    rows, objectives = ArrayRows(X, y, prep), refits(SVM, 300, 4, 10, 30.0, l2=1e-6)
    tau = max(smallest_tau(SVM, 300, 4, 1.0, o.ridge, float(np.linalg.norm(o.linear)), 1.0) for o in objectives)
    alone = []
    real = ArrayRows.minimise
    monkeypatch.setattr(ArrayRows, "minimise", lambda *a: alone.append(a[1]) or real(*a))
    assert (rows.minimise_many(objectives, tau, 500)[1] <= tau).all()
    _, *refitted = alone  # the first is where all of them start
    assert refitted
    assert all(objective in objectives for objective in refitted)


def test_a_hessian_without_a_decomposition_costs_passes_and_not_the_fit(monkeypatch):
    """LAPACK may give up, and by then the noise is drawn: whether it does must not end a fit."""
    X, y, prep = data("plain", 400, 3, LOGISTIC)
    rows, objectives = ArrayRows(X, y, prep), refits(LOGISTIC, 400, 3, 10, 1.0)
    tau = max(smallest_tau(LOGISTIC, 400, 3, 1.0, o.ridge, float(np.linalg.norm(o.linear)), 1.0) for o in objectives)
    failures = []

    def fails(matrix):
        failures.append(matrix)
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    coefs, bounds = rows.minimise_many(objectives, tau, 500)
    assert failures
    assert (bounds <= tau).all()
    for coef, objective in zip(coefs, objectives, strict=True):
        assert gradient_norm(X, y, prep, objective, coef) <= tau * (1 + 1e-9) + 1e-12 * 400


def test_refits_of_several_losses_are_refused():
    X, y, prep = data("plain", 50, 2, LOGISTIC)
    with pytest.raises(ValueError, match="must share their loss"):
        ArrayRows(X, y, prep).minimise_many([plain_objective(loss, 1.0, 2) for loss in (LOGISTIC, SVM)], 1e-6, 100)
