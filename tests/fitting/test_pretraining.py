"""Pre-training: public data, a public model or public coefficients as the start of a private fit."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dplr
from dplr.fitting import run as fitting
from dplr.noise import Source
from dplr.rows import ArrayRows
from specs import spec_with

PAIRS = {"a": (-1.0, 1.0), "b": (0.0, 4.0), "c": (-3.0, 2.0)}
NAMES = list(PAIRS)
BOUNDS = dplr.Bounds(PAIRS)
NUMERIC = dplr.Bounds(PAIRS, target=(-1, 1))
PRIVATE_MECHANISMS = ["fm", "objective", "output"]
MODELS = {
    "logistic": {"bounds": BOUNDS},
    "svm": {"bounds": BOUNDS, "mechanism": "objective"},
    "linear": {"bounds": dplr.Bounds(PAIRS, target=(-2, 3))},
}


def rows(n, seed):
    """A frame inside its bounds, and labels that depend on it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.uniform(*pair, n) for name, pair in PAIRS.items()})
    return X, (3 * X["a"] - X["b"] + X["c"] + 2 + rng.logistic(size=n) > 0).to_numpy(int)


PUBLIC = rows(300, seed=1)
PRIVATE = rows(2000, seed=2)


def seeded(X, y, **options):
    """A fit whose noise is the same every time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.fit(X, y, **{"eps": 1.0, "bounds": BOUNDS, "rng": 5, **options})


def coefs(est):
    return np.append(est.coef_, est.intercept_)


def non_private(X, y, **options):
    return dplr.fit(X, y, **{"eps": math.inf, "bounds": BOUNDS, "mechanism": "none", **options})


def w0(est):
    return np.array(est._record.plan.problem.w0)


# ---- what public data are worth ----


@pytest.mark.parametrize("model", MODELS)
def test_public_data_are_worth_the_non_private_model_of_the_same_loss_and_bounds(model):
    options = {"model": model, **MODELS[model]}
    exact = {"mechanism": "fm", "l2": 1 / 300} if model == "linear" else {}
    public = non_private(*PUBLIC, **{**options, "mechanism": "none", **exact})
    from_data, from_model, alone = (seeded(*PRIVATE, public=start, **options) for start in (PUBLIC, public, None))
    assert_allclose(coefs(from_data), coefs(from_model), rtol=1e-9, atol=1e-9)
    assert np.abs(coefs(from_data) - coefs(alone)).max() > 0.01


def test_linear_start_is_the_ridge_regression_of_the_public_rows():
    X, y = PUBLIC[0].to_numpy(), PUBLIC[1].astype(float)
    private = PRIVATE[0].to_numpy() / 6, PRIVATE[1].astype(float)
    est = seeded(*private, model="linear", bounds=None, public=(X / 6, y))
    V = np.column_stack([X / 6, np.full(len(X), 0.5)])  # in the unit ball
    assert_allclose(w0(est), np.linalg.solve(V.T @ V + np.eye(4), V.T @ y), atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_pair_and_model_are_one_start(fit_intercept):
    model = non_private(*PUBLIC, fit_intercept=fit_intercept)
    pair = (model.coef_, model.intercept_)
    forms = [model, pair, list(pair), (model.coef_[0].tolist(), float(model.intercept_[0]))]
    found = [coefs(seeded(*PRIVATE, public=form, fit_intercept=fit_intercept)) for form in forms]
    for other in found[1:]:
        assert_array_equal(other, found[0])


def test_two_numbers_are_a_slope_and_an_intercept_however_they_are_given():
    X, y = PRIVATE[0][["a"]].to_numpy(), PRIVATE[1]
    found = [coefs(seeded(X, y, bounds=None, public=form)) for form in ((2.0, -1.0), [2.0, -1.0], ([2.0], [-1.0]))]
    assert_array_equal(found[1], found[0])
    assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("form", [tuple, list])
def test_data_are_told_from_coefficients_by_their_rows(form):
    X, y = (part[:2] for part in (PUBLIC[0].to_numpy(), np.array([0, 1])))
    assert "2 rows" in str(dplr.plan(n_rows=9, n_features=3, eps=1.0, public=form((X / 6, y))).statement.assumptions)
    one = dplr.plan(n_rows=9, n_features=3, eps=1.0, public=form((X[:1] / 6, y[:1])))
    assert "public coefficients" in str(one.statement.assumptions)


def test_columns_of_a_public_frame_are_matched_by_name():
    X, y = PUBLIC
    found = [coefs(seeded(*PRIVATE, public=(X[order], y))) for order in (NAMES, ["c", "a", "b"])]
    assert_array_equal(found[1], found[0])
    assert_array_equal(coefs(seeded(*PRIVATE, public=(X.to_numpy(), y))), found[0])  # an array goes by position


def test_public_labels_are_mapped_like_private_ones():
    words, (X, y) = np.array(["no", "yes"]), PUBLIC
    expected = coefs(seeded(*PRIVATE, public=PUBLIC))
    text = seeded(PRIVATE[0], words[PRIVATE[1]], classes=("no", "yes"), public=(X, pd.Series(words[y])))
    assert_array_equal(coefs(text), expected)
    assert_array_equal(coefs(seeded(PRIVATE[0], PRIVATE[1] == 1, public=PUBLIC)), expected)
    signed = seeded(PRIVATE[0], 2 * PRIVATE[1] - 1, classes=(-1, 1), public=(X, 2.0 * y - 1))
    assert_allclose(coefs(signed), expected, rtol=1e-9)


def test_public_targets_are_compared_with_the_threshold_too():
    (X, y), (X_public, y_public) = PRIVATE, PUBLIC
    above = dplr.Bounds(PAIRS, target={"threshold": 50_000})
    income = seeded(X, 30_000.0 + 40_000 * y, bounds=above, public=(X_public, 30_000 + 40_000 * np.asarray(y_public)))
    expected = seeded(X, y == 1, public=(X_public, np.asarray(y_public) == 1))
    assert_array_equal(coefs(income), coefs(expected))


# ---- the laws of w0 ----


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_fits_at_a_tiny_eps_end_at_the_public_model(mechanism, delta):
    gaps = []
    for eps in (1e-2, 1e-4, 1e-6):
        est = seeded(*PRIVATE, mechanism=mechanism, eps=eps, delta=delta, public=PUBLIC)
        gaps.append(np.linalg.norm(est._record.prep.from_user_units(est.coef_[0], est.intercept_[0]) - w0(est)))
    assert gaps[2] < 1e-2 * np.linalg.norm(w0(est))
    assert gaps == sorted(gaps, reverse=True)


def test_functional_mechanism_ends_at_the_public_model_as_its_ridge_grows():
    gaps = []
    for ridge in (4.0, 1e2, 1e4):
        est = seeded(*PRIVATE, mechanism=dplr.FunctionalMechanism(ridge_deviations=ridge), eps=0.01, public=PUBLIC)
        gaps.append(np.linalg.norm(est._record.prep.from_user_units(est.coef_[0], est.intercept_[0]) - w0(est)))
    assert gaps[2] < 1e-2 * np.linalg.norm(w0(est))
    assert gaps == sorted(gaps, reverse=True)


def test_objective_perturbation_with_a_start_has_the_noise_of_that_without(monkeypatch):
    """What is left of the gradient is the noise: the same seed gives the same vector, wherever the ridge pulls to."""
    monkeypatch.setattr(Source, "laplace", lambda self, scale, n: np.zeros(n, np.int64))  # pays for the tolerance
    (X, y), signs, uncut = PRIVATE, 2 * PRIVATE[1] - 1, dplr.ObjectivePerturbation(cut=None)
    left, blocks = [], []
    for public in (None, PUBLIC):
        options = {"mechanism": spec_with(uncut, "off"), "public": public}
        est = seeded(X, y, **options)
        planned = dplr.plan(n_rows=2000, bounds=BOUNDS, eps=1.0, **options).settings
        prep = est._record.prep
        coef = np.array(prep.from_user_units(est.coef_[0], est.intercept_[0]))
        V = (X.to_numpy() - prep.shift[:3]) * prep.scale[:3] / 2**20
        V = signs[:, None] * np.column_stack([V, np.full(len(y), 0.5)])
        center = np.zeros(4) if public is None else w0(est)
        ridges = planned.ridge / np.square(planned.weights)
        left.append(V.T @ expit(-V @ coef) - ridges * (coef - center))
        blocks.append((*ridges, *est.privacy_.released.values()))
    assert blocks[0] == blocks[1]
    assert np.linalg.norm(left[0]) > 1
    assert_allclose(left[1], left[0], atol=1e-3)  # the solver's tolerance


@pytest.mark.parametrize("mechanism", PRIVATE_MECHANISMS)
def test_public_data_change_neither_noise_nor_cost_nor_the_number_of_records(mechanism):
    facts = {"n_rows": 2000, "bounds": BOUNDS, "eps": 0.5, "mechanism": spec_with(mechanism, "off")}
    plans = [dplr.plan(**facts, public=public) for public in (None, PUBLIC)]
    assert plans[0].released == plans[1].released
    assert plans[0].statement.guarantee == plans[1].statement.guarantee
    est = dplr.fit(*PRIVATE, bounds=BOUNDS, eps=0.5, mechanism=mechanism, public=PUBLIC)
    assert est._record.plan.problem.n_rows == 2000
    assert "the number of records = 2000" in est.privacy_.assumptions


def test_refit_keeps_the_start():
    est = seeded(*PRIVATE, public=PUBLIC, mechanism="fm")
    assert_allclose(coefs(est.refit(l2=1e6)), coefs(non_private(*PUBLIC)), atol=1e-3)


# ---- private rows given as public ones ----


def test_the_private_rows_are_refused_as_public_ones(entropy, tmp_path):
    frame, ledger = pd.DataFrame(X, columns=NAMES), dplr.Ledger(tmp_path / "budget", eps=1.0)
    same = [(frame, frame), (X, X), (X, X[:50]), (X[::2], X[1:][::-1]), (X, X.view())]
    for private, public in same:
        facts = {"bounds": dplr.Bounds(PAIRS if private is frame else list(PAIRS.values())), "ledger": ledger}
        with pytest.raises(ValueError, match=r"`public` must not be the private rows; got .*disjoint from the private"):
            dplr.fit(private, Y[: len(private)], eps=0.5, classes=[0, 1], public=(public, Y[: len(public)]), **facts)
    assert entropy.bytes == 0
    assert ledger.spent() == (0.0, 0.0)


def test_other_rows_of_one_array_are_other_rows():
    bounds = dplr.Bounds(list(PAIRS.values()))
    for private, public in ((slice(50, None), slice(50)), (slice(1, None, 2), slice(None, None, 2))):
        start = (X[public], Y[public])
        est = dplr.fit(X[private], Y[private], eps=0.5, classes=[0, 1], public=start, bounds=bounds)
        assert any(f"public data of {len(start[0])} rows" in fact for fact in est.privacy_.assumptions)


# ---- the statement ----


def test_statement_says_what_public_data_were_used_and_what_must_hold_of_them():
    plan = dplr.plan(n_rows=2000, bounds=BOUNDS, eps=0.5, public=PUBLIC)
    est = dplr.fit(*PRIVATE, bounds=BOUNDS, eps=0.5, public=PUBLIC)
    sentence = (
        "public data of 300 rows, where the fit starts: they are disjoint from the private data, and were not "
        "selected using it"
    )
    for statement in (plan.statement, est.privacy_):
        assert sentence in statement.assumptions
    from_pair = dplr.plan(n_rows=9, bounds=BOUNDS, eps=0.5, public=([1.0, 2.0, 3.0], 0.5)).statement.assumptions
    (fact,) = [fact for fact in from_pair if fact.startswith("public coef")]
    assert fact.startswith("public coefficients [1. 2. 3.], intercept 0.5: they do not come from the private data")
    assert fact.endswith("disjoint from the private data, and were not selected using it")


def test_private_model_as_start_may_share_records_because_both_add_up():
    first = dplr.fit(*PRIVATE, bounds=BOUNDS, eps=0.25, mechanism="fm")
    statement = dplr.fit(*PRIVATE, bounds=BOUNDS, eps=0.5, public=first, mechanism="fm").privacy_
    (fact,) = [fact for fact in statement.assumptions if fact.startswith("public coef")]
    assert "under pure eps-differential privacy, eps = 0.25; on common records both add up" in fact
    assert "disjoint" not in fact
    exact = dplr.fit(*PRIVATE, bounds=BOUNDS, eps=0.5, public=non_private(*PUBLIC), mechanism="fm").privacy_
    assert any("disjoint" in fact for fact in exact.assumptions)


# ---- everywhere ----


def test_plan_from_public_data_is_the_plan_of_the_fit():
    plan = dplr.plan(n_rows=2000, bounds=BOUNDS, eps=1.0, mechanism="objective", public=PUBLIC)
    est = dplr.fit(*PRIVATE, bounds=BOUNDS, eps=1.0, mechanism="objective", public=PUBLIC)
    assert plan.problem.w0 == est._record.plan.problem.w0
    X, y = PUBLIC
    unnamed = dplr.plan(n_rows=9, n_features=3, eps=1.0, public=(X / 6, np.where(y, "b", "a")))  # labels of its own
    for labels in (y, 2 * y - 1, y + 7):  # whatever the two are called
        assert_allclose(
            dplr.plan(n_rows=9, n_features=3, eps=1.0, public=(X / 6, labels)).problem.w0, unnamed.problem.w0
        )


def test_fit_many_starts_every_fit_at_the_public_model():
    fits = dplr.fit_many(*PRIVATE, eps=[1e-6, 1e-5], repeats=2, mechanism="output", bounds=BOUNDS, public=PUBLIC)
    for est in fits:
        assert_allclose(coefs(est), coefs(non_private(*PUBLIC)), rtol=0.01)


def test_public_data_survive_clone_and_are_not_split_by_cross_validation():
    est = dplr.LogisticRegression(eps=1e-6, mechanism="output", bounds=BOUNDS, public=PUBLIC)
    copy = clone(est)
    assert_array_equal(copy.get_params()["public"][1], PUBLIC[1])
    scores = cross_val_score(est, *PRIVATE, cv=KFold(4))
    assert_allclose(scores.mean(), non_private(*PUBLIC).score(*PRIVATE), atol=1e-3)


@pytest.mark.filterwarnings("ignore:a function of FunctionTransformer:dplr.PrivacyWarning")
def test_in_a_pipeline_public_data_are_in_the_units_that_the_estimator_sees():
    halve = FunctionTransformer(lambda X: X / 2)
    bounds = dplr.Bounds([(low / 2, high / 2) for low, high in PAIRS.values()])
    X, y = (PUBLIC[0].to_numpy(), PUBLIC[1])
    inner = dplr.LogisticRegression(eps=1e-6, mechanism="output", bounds=bounds, public=(X / 2, y))
    pipe = make_pipeline(halve, inner).fit(PRIVATE[0].to_numpy(), PRIVATE[1])
    expected = non_private(X / 2, y, bounds=bounds)
    assert_allclose(coefs(pipe[-1]), coefs(expected), rtol=0.01)


# ---- faults ----

X, Y = PUBLIC[0].to_numpy(), PUBLIC[1]
FAULTS = [
    ((np.where(np.arange(3) == 1, np.nan, X), Y), "`public` must be finite; got '300 of 300 rows with NaN"),
    ((PUBLIC[0].where(PUBLIC[0] < 1.9), Y), r"`public` must be finite; got '\d+ of 300 rows"),
    ((X, np.where(Y, 1.0, np.nan)), "`public` must be finite"),
    ((X, np.where(np.arange(300) < 7, 2, Y)), "`public` must hold only the two labels of y; got '7 of 300 rows"),
    ((X, np.where(Y, "yes", "no")), "`public` must hold only the two labels of y|must hold both labels"),
    ((X, np.zeros(300, int)), r"`public` must hold both labels, \[0, 1\]; got 'none that is 1'"),
    ((X[:, :2], Y), r"`public` must have the 3 columns of X; got \(300, 2\)"),
    ((X, Y[:-1]), "`public` must have at least two rows, and one target for each"),
    ((X, np.column_stack([Y, Y])), "one target for each"),
    ((PUBLIC[0][:1], Y[:1]), "at least two rows"),
    ((X.astype(str), Y), "`public` must have numeric columns"),
    ((PUBLIC[0].astype({"b": str}), Y), r"`public` must have numeric columns; got \['b'\]"),
    ((PUBLIC[0].rename(columns={"b": "B"}), Y), r"exactly the columns of X; missing: \['b'\]; not in X: \['B'\]"),
    ((PUBLIC[0][["a", "b"]], Y), r"missing: \['c'\]; not in X: none"),
    (([1.0, 2.0], 3.0), "must have 3 coefficients and one intercept"),
    (
        [1.0, 2.0, 3.0, 0.5],
        r"must hold coefficients and an intercept; got \[1.0.*\(X, y\), a fitted.*\(coef, intercept\)",
    ),
    (np.array([1.0, 2.0, 3.0, 0.5]), "`public` must hold coefficients and an intercept"),
    (np.array([1.0, 2.0]), "`public` must hold coefficients and an intercept"),
    (([1.0, 2.0, math.nan], 0.0), "`public` must be finite"),
    ("heart", "`public` must hold coefficients and an intercept; got 'heart'"),
    (((1.0, 2.0, 3.0), (0.0, 1.0)), "3 coefficients and one intercept.*public data"),
    (([[1.0, 2.0], [3.0]], 0.0), "must hold coefficients and an intercept"),
    (dplr.LogisticRegression(), "`public` must be a linear model that is fitted; got 'LogisticRegression'"),
]


@pytest.mark.parametrize(("public", "match"), FAULTS)
def test_faults_of_public_data_are_named_before_a_private_row_is_read(public, match, entropy, monkeypatch):
    def read(*_):
        raise AssertionError("private rows were read")

    monkeypatch.setattr(fitting, "run", read)
    with pytest.raises(ValueError, match=match):
        dplr.fit(*PRIVATE, eps=1.0, bounds=BOUNDS, public=public)
    assert entropy.bytes == 0


def test_without_an_intercept_that_of_the_pair_must_be_zero():
    plan = dplr.plan(n_rows=9, n_features=3, eps=1.0, fit_intercept=False, public=([1.0, 2.0, 3.0], 0.0))
    assert plan.problem.w0 == (1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match="must have intercept 0 with fit_intercept=False"):
        dplr.plan(n_rows=9, n_features=3, eps=1.0, fit_intercept=False, public=([1.0, 2.0, 3.0], 4.0))


def test_public_frame_beside_a_private_array_is_refused():
    with pytest.raises(ValueError, match="`public` must be an array where X has no column names"):
        dplr.fit(PRIVATE[0].to_numpy() / 6, PRIVATE[1], eps=1.0, public=(PUBLIC[0] / 6, PUBLIC[1]))


def test_one_label_in_public_data_is_refused_by_a_plan():
    with pytest.raises(ValueError, match=r"`public` must hold two labels; got \[1\]"):
        dplr.plan(n_rows=9, n_features=3, eps=1.0, public=(X / 6, np.ones(300, int)))


@pytest.mark.parametrize(
    ("options", "public", "said"),
    [
        (
            {"bounds": BOUNDS},
            (X * [1, 2, 1], Y),
            r"`public` has values outside the bounds, clipped: b \d+\.\d+%\. Check",
        ),
        ({"bounds": None}, (X, Y), r"`public` has .* of the rows of X, outside the unit ball"),
        ({"bounds": NUMERIC, "model": "linear"}, (X, Y * 3.0), r"`public` has .*: y \d+\.\d+%"),
    ],
)
def test_public_values_outside_the_bounds_are_clipped_with_a_warning_of_their_own(options, public, said):
    names = ["a", "b", "c"] if options["bounds"] else None
    frame = (pd.DataFrame(public[0], columns=names), public[1]) if names else public
    with pytest.warns(UserWarning, match=said) as record:
        dplr.plan(n_rows=9, n_features=3, eps=1.0, **options, public=frame)
    assert len(record) == 1


def test_planning_with_public_data_sums_only_public_rows(monkeypatch, entropy):
    seen = []
    real = ArrayRows.sum
    monkeypatch.setattr(ArrayRows, "sum", lambda self, *rest: seen.append(len(self)) or real(self, *rest))
    dplr.plan(n_rows=2000, bounds=BOUNDS, eps=1.0, public=PUBLIC)
    assert set(seen) == {300}
    assert entropy.bytes == 0
