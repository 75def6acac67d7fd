"""DPME and Filter-Priority as estimators: what they release, what they say, and what they refuse."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import KFold, cross_val_score

import dplr
from dplr import baselines

BOUNDS = dplr.Bounds([(0, 10), (-1, 1)], target=(-20, 20))
LABELLED = dplr.Bounds([(0, 10), (-1, 1)])
BOTH = pytest.mark.parametrize("kind", [baselines.DPME, baselines.FilterPriority])
INF = float("inf")


def data(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 10, n), rng.uniform(-1, 1, n)])
    return X, X[:, 0] + 5 * X[:, 1] - 3


def made(kind, model="logistic", **options):
    return kind(**{"model": model, "bounds": BOUNDS if model == "linear" else LABELLED} | options)


@BOTH
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_noise_the_linear_model_is_least_squares_of_the_middles_of_cells(kind, fit_intercept):
    X, y = data()
    est = made(kind, "linear", eps=INF, bins=8, fit_intercept=fit_intercept).fit(X, y)
    rows, targets, weights = est.points()
    assert weights.sum() == len(X)
    plain = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(rows, targets, weights)
    assert est.coef_ == pytest.approx(plain.coef_, rel=1e-9)
    assert est.intercept_ == pytest.approx(plain.intercept_, abs=1e-8)
    assert fit_intercept or est.intercept_ == 0


@BOTH
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_noise_the_logistic_model_is_that_of_as_many_rows(kind, fit_intercept):
    """Each cell written as often as its weight says, and fitted by mechanism="none": the same objective."""
    X, y = data(400)
    est = made(kind, eps=INF, bins=4, fit_intercept=fit_intercept).fit(X, y > 0)
    rows, targets, weights = est.points()
    times = weights.astype(int)
    plain = dplr.fit(
        np.repeat(rows, times, axis=0), np.repeat(targets, times), eps=INF, mechanism="none", bounds=LABELLED,
        fit_intercept=fit_intercept,
    )  # fmt: skip
    assert est.coef_ == pytest.approx(plain.coef_, rel=1e-4)
    assert est.intercept_ == pytest.approx(plain.intercept_, rel=1e-4, abs=1e-6)


def test_a_column_that_never_changes_leaves_the_solution_of_least_norm():
    X, y = data()
    X[:, 1], y = 0.9, 2 * X[:, 0] - 10
    est = made(baselines.DPME, "linear", eps=INF, bins=7).fit(X, y)
    assert est.coef_[0] == pytest.approx(2, rel=0.05)
    assert abs(est.coef_[1]) < 0.1  # it and the intercept could be anything together
    assert est.score(X, y) > 0.98


@BOTH
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_the_model_is_a_function_of_what_was_released(kind, model):
    X, y = data()
    y = y if model == "linear" else y > 0
    est = made(kind, model, eps=1.0, bins=6).fit(X, y)
    cells, counts = est.released_["cells"], est.released_["counts"]
    assert (np.diff(cells) > 0).all()
    assert counts.min() >= 1
    other = made(kind, model, eps=1.0, bins=6).fit(*((data(50, 1)[0], data(50, 1)[1] * 0)))
    ready = est._plain_model()._prepared(X, y, est.bounds, [1.0])
    other._take(est._plain_model(), ready, est._grid, est.privacy_, (cells, counts))
    assert np.array_equal(other.coef_, est.coef_)


@BOTH
def test_relations_have_their_sensitivity_and_public_number_of_rows(kind):
    X, y = data()
    one = made(kind, eps=0.8).fit(X, y > 0)
    other = made(kind, eps=0.8, neighbouring="add_remove", n_rows=1000).fit(X, y > 0)
    for est, sensitivity, n in ((one, 2, 3000), (other, 1, 1000)):
        block = est.privacy_.released["counts"]
        assert block.sensitivity == sensitivity
        assert block.scale == pytest.approx(sensitivity / 0.8, rel=1e-8)
        assert block.scale >= sensitivity / 0.8
        assert block.law == "discrete Laplace"
        assert any(str(n) in said for said in est.privacy_.assumptions)
        assert est.privacy_.guarantee == dplr.privacy.Pure(0.8)
        assert est.privacy_.arithmetic == "integer"
        assert "histogram.md" in est.privacy_.source
    assert (one._grid.sizes, other._grid.sizes) == ((17, 17, 2), (11, 11, 2))


def test_nothing_public_depends_on_the_private_number_of_rows():
    plans = []
    for n in (100, 3_000):
        X, y = data(n)
        est = made(baselines.FilterPriority, eps=0.8, neighbouring="add_remove", n_rows=500).fit(X, y > 0)
        plans.append((str(est.privacy_), est._grid.sizes))
    assert plans[0] == plans[1]


def test_threshold_and_size_of_filter_priority_are_kept_and_said():
    X, y = data()
    est = made(baselines.FilterPriority, eps=0.8, theta=9, size=20).fit(X, y > 0)
    assert len(est.released_["cells"]) <= 20
    assert est.released_["counts"].min() >= 9
    assert "counts of at least 9 are kept, and a priority sample of 20" in est.privacy_.calibration


@BOTH
def test_noise_is_drawn_anew_or_as_a_seed_says(kind):
    X, y = data()
    fits = [made(kind, eps=1.0).fit(X, y > 0) for _ in range(2)]
    assert not np.array_equal(fits[0].coef_, fits[1].coef_)
    with pytest.warns(dplr.PrivacyWarning, match="protects nobody"):
        seeded = [made(kind, eps=1.0, rng=3).fit(X, y > 0) for _ in range(2)]
    assert np.array_equal(seeded[0].coef_, seeded[1].coef_)
    assert seeded[0].privacy_.reproducible


def test_tables_of_more_cells_than_64_bits_count_are_released():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(0, 1, (5, 8)), 100, axis=0)  # five places that many rows share
    bounds = dplr.Bounds([(0, 1)] * 8)
    est = baselines.FilterPriority(eps=5.0, bounds=bounds, bins=10**3).fit(X, X[:, 0] > 0.5)
    assert est._grid.cells == 2 * 10**24
    cells = est.released_["cells"].tolist()
    assert all(type(cell) is int and cell < est._grid.cells for cell in cells)
    rows, targets, weights = est.points()
    seen = [np.abs(rows - place).max(axis=1).min() for place in X[::100]]
    assert max(seen) <= 0.0005  # each place has its cell
    assert rows.shape == (len(cells), 8)
    assert set(targets) <= {False, True}
    assert weights.sum() > 450


# Cells


TABLE = pd.DataFrame(
    {
        "age": [18.0, 60.0, 99.0, 200.0, -5.0, np.nan],
        "work": ["none", "some", "all", "other", None, "some"],
        "grade": [1, 2, 3, 2, 7, 1],
        "sex": ["f", "m", "f", "x", "m", "m"],
        "hours": [0, 20, 40, 99, 10, 30],
    }
)
DECLARED = dplr.Bounds(
    {
        "age": {"lower": 18, "upper": 99, "missing": "indicator"},
        "work": {"levels": ["none", "some", "all"], "missing": "indicator"},
        "grade": {"levels": [1, 2, 3], "ordinal": True},
        "sex": {"levels": ["f", "m"], "binary": True},
        "hours": {"lower": 0, "upper": 99, "bins": [20, 40]},
    }
)


@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
def test_every_kind_of_column_has_its_cells():
    est = baselines.DPME(eps=INF, bounds=DECLARED, bins=3).fit(TABLE, [0, 1, 0, 1, 0, 1])
    # Three bins and a cell for what is missing; no level, three levels and what is missing; and so on.
    assert est._grid.sizes == (4, 5, 3, 2, 3, 2)
    codes = np.array(np.unravel_index(est.released_["cells"], est._grid.sizes)).T.tolist()
    expected = [
        [0, 1, 0, 0, 0, 0], [1, 2, 1, 1, 1, 1], [2, 3, 2, 0, 2, 0], [2, 0, 1, 1, 2, 1], [0, 4, 1, 1, 0, 0],
        [3, 2, 0, 1, 1, 1],
    ]  # fmt: skip
    assert sorted(codes) == sorted(expected)
    rows, targets, _ = est.points()
    last = rows[codes.index(expected[5])]
    assert dict(zip(est.coef_names_, last.tolist(), strict=True)) == {
        "age": 58.5, "age is missing": 1.0, "work=none": 0.0, "work=some": 1.0, "work=all": 0.0,
        "work is missing": 0.0, "grade": 0.0, "sex=m": 1.0, "hours in [0, 20)": 0.0, "hours in [20, 40)": 1.0,
        "hours in [40, 99]": 0.0,
    }  # fmt: skip
    assert rows[codes.index(expected[0])][0] == 31.5
    assert set(targets.tolist()) == {0, 1}


def test_a_reference_has_a_cell_and_no_column():
    bounds = dplr.Bounds({"work": {"levels": ["none", "some", "all"], "reference": "none"}})
    frame = pd.DataFrame({"work": ["none", "some", "all", "none"]})
    est = baselines.DPME(eps=INF, bounds=bounds).fit(frame, [0, 1, 1, 0])
    assert est._grid.sizes == (3, 2)
    assert est.released_["cells"].tolist() == [0, 3, 5]
    assert est.released_["counts"].tolist() == [2, 1, 1]


@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
def test_the_cell_of_a_record_depends_on_that_record_alone():
    est = made(baselines.DPME, "linear", eps=INF, bins=7)
    X, y = data(200)
    X[::7] *= 3
    X[5], y[9] = (1e300, -1e300), 1e9
    whole = est.fit(X, y).released_
    total = {}
    for row, target in zip(X, y, strict=True):
        (cell,) = made(baselines.DPME, "linear", eps=INF, bins=7).fit(row[None], [target]).released_["cells"].tolist()
        total[cell] = total.get(cell, 0) + 1
    assert dict(zip(whole["cells"].tolist(), whole["counts"].tolist(), strict=True)) == total


# Accounts


@BOTH
def test_a_fit_spends_its_eps_and_more_than_there_is_is_refused_before_a_row_is_read(kind, tmp_path, entropy):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    X, y = data()
    made(kind, eps=0.6, ledger=ledger).fit(X, y > 0)
    assert ledger.spent() == (0.6, 0.0)
    used = entropy.bytes
    with pytest.raises(dplr.BudgetExceeded):
        made(kind, eps=0.6, ledger=ledger).fit(X * np.nan, y > 0)
    assert (ledger.spent(), entropy.bytes) == ((0.6, 0.0), used)


def test_a_table_beyond_64_bits_is_entered_in_a_ledger(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    X = np.random.default_rng(0).uniform(0, 1, (200, 8))
    bounds = dplr.Bounds([(0, 1)] * 8)
    baselines.FilterPriority(eps=0.5, bounds=bounds, bins=10**3, ledger=ledger).fit(X, X[:, 0] > 0.5)
    assert ledger.spent() == (0.5, 0.0)
    assert len(ledger.entries()) == 1


@BOTH
@pytest.mark.parametrize("fault", ["nan", "label"])
def test_faulty_rows_are_refused_before_any_noise_and_the_budget_comes_back(kind, fault, tmp_path, entropy):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    X, y = data()
    y = (y > 0).astype(int)
    if fault == "nan":
        X[7, 1] = np.nan
    else:
        y[7] = 5
    with pytest.raises(ValueError, match="finite; got 1 of 3000" if fault == "nan" else "only its labels; got 1"):
        made(kind, eps=0.6, ledger=ledger).fit(X, y)
    assert (ledger.spent(), entropy.bytes) == ((0.0, 0.0), 0)


@BOTH
@pytest.mark.filterwarnings("error")
def test_a_strict_ledger_says_nothing_of_the_rows_and_gives_nothing_back(kind, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0, strict=True)
    X, y = data()
    X[3] = 1e6  # outside the bounds: no warning
    made(kind, eps=0.3, ledger=ledger).fit(X, y > 0)
    X[7, 1] = np.nan
    with pytest.raises(RuntimeError, match="the ledger is strict: it says no more"):
        made(kind, eps=0.3, ledger=ledger).fit(X, y > 0)
    assert ledger.spent() == (0.6, 0.0)
    with pytest.raises(TypeError, match="`X` must be an array or a frame"):
        made(kind, eps=0.3, ledger=ledger).fit(X.tolist(), y > 0)


@pytest.mark.filterwarnings("error")
def test_a_strict_ledger_is_silent_where_values_are_converted_before_the_reservation(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0, strict=True)
    X, y = data()
    y = y.astype(np.longdouble)
    y[0] = np.longdouble("1e400")  # no float64
    bounds = dplr.Bounds([(0, 10), (-1, 1)], target={"threshold": 0})
    made(baselines.DPME, eps=0.3, bounds=bounds, ledger=ledger).fit(X, y)
    assert ledger.spent() == (0.3, 0.0)


def test_the_data_holder_is_told_of_values_outside_the_bounds():
    X, y = data()
    X[:30] = 99
    with pytest.warns(dplr.DataWarning, match="outside their bounds"):
        made(baselines.DPME, eps=1.0).fit(X, y > 0)


# What is refused


REFUSED = [
    ({"bounds": None}, ValueError, "`bounds` must be declared for a table of counts; got None"),
    ({"bounds": dplr.Bounds([(0, 10), (-1, 1)], products=[(0, 1)])}, ValueError, "`bounds` must have no products"),
    ({"model": "svm"}, ValueError, "`model` must be one of 'logistic', 'linear'"),
    ({"classes": (0, 1, 2)}, ValueError, "`classes` must be two labels"),
    ({"neighbouring": "add_remove"}, ValueError, "`n_rows` must be declared under add_remove"),
    ({"bins": 0}, ValueError, "`bins` must be at least 1; got 0"),
    ({"bins": 2.5}, TypeError, "`bins` must be an integer"),
    ({"bins": [3, 4]}, ValueError, "`bins` must be None, a number, or 3 of them"),
    ({"bins": 2**40}, ValueError, "`bins` must be at most 2\\^20"),
    ({"bins": "many"}, TypeError, "`bins` must be an integer"),
    ({"eps": 0.0}, ValueError, "`eps` must be positive"),
    ({"rng": "now"}, TypeError, "`rng` must be None or an int"),
]


@BOTH
@pytest.mark.parametrize(("options", "error", "said"), REFUSED)
def test_bad_parameters_are_refused_before_any_noise(kind, options, error, said, entropy):
    X, y = data()
    with pytest.raises(error, match=said):
        made(kind, **options).fit(X, y > 0)
    assert entropy.bytes == 0


def test_tables_of_which_too_many_empty_cells_would_pass_are_refused(entropy):
    X, y = data()
    for kind, options in ((baselines.DPME, {}), (baselines.FilterPriority, {"theta": 3})):
        with pytest.raises(ValueError, match="`bins` must leave at most 67108864 empty cells"):
            made(kind, bins=100_000, **options).fit(X, y > 0)
    assert entropy.bytes == 0


@pytest.mark.parametrize(("name", "value"), [("theta", 0), ("size", 0), ("theta", 1.5), ("size", None)])
def test_bad_thresholds_and_sizes_are_refused(name, value):
    X, y = data()
    options = {name: value} if value is not None else {"neighbouring": "add_remove", "bins": 3, "theta": 2}
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must be|`n_rows` must be declared.*`{name}`"):
        made(baselines.FilterPriority, **options).fit(X, y > 0)


def test_a_linear_model_needs_the_range_of_its_target():
    X, y = data()
    with pytest.raises(ValueError, match="`bounds` must declare the range of a numeric target"):
        made(baselines.DPME, "linear", bounds=LABELLED).fit(X, y)


# scikit-learn


@BOTH
def test_estimators_follow_the_conventions_of_scikit_learn(kind):
    X, y = data()
    est = made(kind, eps=2.0, bins=4)
    assert clone(est).get_params() == est.get_params()
    assert is_classifier(est)
    assert is_regressor(made(kind, "linear"))
    before = set(vars(est))
    assert before == set(est.get_params())
    est.fit(X, y > 0)
    assert est.predict(X).dtype == bool
    assert est.predict_proba(X).shape == (3000, 2)
    assert np.array_equal(est.decision_function(X) > 0, est.predict(X))
    assert est.score(X, y > 0) == (est.predict(X) == (y > 0)).mean()
    assert (est.n_features_in_, est.coef_.shape, est.classes_.tolist()) == (2, (1, 2), [False, True])
    assert np.array_equal(pickle.loads(pickle.dumps(est)).predict(X), est.predict(X))
    linear = made(kind, "linear", bins=4).fit(X, y)
    assert linear.coef_.shape == (2,)
    assert not hasattr(linear, "predict_proba")
    assert (np.abs(linear.predict(X * 100)) <= 20).all()
    assert not hasattr(linear.fit(X, y), "classes_")


def test_keywords_of_others_are_refused_with_ours():
    with pytest.raises(TypeError, match="Use `eps`"):
        baselines.DPME(epsilon=1.0)


def test_folds_are_fitted_and_calibration_is_refused():
    X, y = data()
    est = made(baselines.DPME, eps=5.0, bins=4)
    assert cross_val_score(est, X, (y > 0).astype(int), cv=KFold(3)).mean() > 0.8
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        CalibratedClassifierCV(est, cv=KFold(3)).fit(X, (y > 0).astype(int))


def test_a_fit_to_one_table_after_another_forgets_the_first():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b"])
    est = made(baselines.DPME, bounds=dplr.Bounds({"a": (0, 10), "b": (-1, 1)}), eps=3.0).fit(frame, y > 0)
    assert est.feature_names_in_.tolist() == ["a", "b"]
    est.bounds = LABELLED
    assert not hasattr(est.fit(X, y > 0), "feature_names_in_")


# Truncated


def test_truncated_is_the_minimiser_of_the_polynomial():
    """(1/8) sum (x.w)^2 + sum (1/2 - y) x.w, without noise and without an intercept (FM12 section 5.1)."""
    X, y = data()
    X = X / [20.0, 2.0]
    labels = y > 0
    est = baselines.truncated(X, labels, fit_intercept=False)
    w = np.linalg.solve(X.T @ X / 4, X.T @ (labels - 0.5))
    assert est.coef_[0] == pytest.approx(w, rel=1e-4)
    assert math.isinf(est.privacy_.eps)


def test_truncated_linear_is_least_squares():
    X, y = data()
    est = baselines.truncated(X, y, model="linear", bounds=BOUNDS)
    plain = linear_model.LinearRegression().fit(X, y)
    assert est.coef_ == pytest.approx(plain.coef_, rel=1e-4)
    assert est.intercept_ == pytest.approx(plain.intercept_, rel=1e-4)


@pytest.mark.parametrize("name", baselines.__all__)
def test_docstrings_have_a_privacy_section_and_an_example(name):
    text = getattr(baselines, name).__doc__
    assert "Privacy\n    -------" in text
    assert "Examples\n    --------" in text
