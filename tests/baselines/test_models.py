"""DPME and Filter-Priority as estimators: what they release, what they say, and what they refuse."""

import inspect
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model

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
def test_the_model_is_a_function_of_what_was_released(kind, model, monkeypatch):
    X, y = data()
    y = y if model == "linear" else y > 0
    est = made(kind, model, eps=1.0, bins=6).fit(X, y)
    cells, counts = est.released_["cells"], est.released_["counts"]
    assert (np.diff(cells) > 0).all()
    assert counts.min() >= 1
    monkeypatch.setattr(kind, "_release", lambda *_: (cells, counts))  # the same release of other rows
    other = made(kind, model, eps=1.0, bins=6).fit(np.zeros_like(X), np.zeros_like(y))
    assert np.array_equal(other.coef_, est.coef_)
    assert np.array_equal(other.intercept_, est.intercept_)
    assert pickle.dumps(other) == pickle.dumps(est)


KEPT = {"coef_", "intercept_", "n_features_in_", "target_name_"}


@BOTH
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_a_fitted_model_keeps_no_more_than_parameters_public_facts_and_the_release(kind, model):
    X, y = data()
    est = made(kind, model, eps=1.0, bins=6).fit(X, y if model == "linear" else y > 0)
    labels = set() if model == "linear" else {"classes_", "outcome_"}
    own = {"released_", "privacy_", "_model", "_grid"}
    assert set(vars(est)) == set(est.get_params()) | KEPT | labels | own
    assert set(vars(est._model)) == set(est._model.get_params()) | KEPT | labels | {"_record", "privacy_", "_alias"}
    assert set(vars(est._grid)) == {"axes", "width"}
    assert list(est._model._record.parts) == [{}]
    assert len(pickle.dumps(est)) < 8 * X.size  # no room for the rows


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
    assert (
        "counts of at least 9 are kept, and a priority sample of 20 of them, with weights for counts"
        in est.privacy_.calibration
    )


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


@pytest.mark.filterwarnings("ignore::dplr.DataWarning")
@pytest.mark.parametrize(("levels", "middle"), [(["a", "b"], 1), (["a", "b", "c"], 1), (["a", "b", "c", "d"], 2)])
def test_a_value_that_is_none_of_the_levels_of_a_number_counts_in_the_middle_and_the_statement_says_so(levels, middle):
    kind = {"binary": True} if len(levels) == 2 else {"ordinal": True}
    bounds = dplr.Bounds({"grade": {"levels": levels} | kind, "work": {"levels": ["none", "all"]}})
    frame = pd.DataFrame({"grade": ["odd"], "work": ["odd"]})
    est = baselines.DPME(eps=INF, bounds=bounds).fit(frame, [1])
    assert est._grid.sizes == (len(levels), 3, 2)  # a cell of its own for no work, none for no grade
    assert np.unravel_index(est.released_["cells"], est._grid.sizes) == (middle, 0, 1)
    cell = "in the cell of the middle level, the later one of two"
    rule = f"in the table, a value of grade that is none of the levels lies {cell}"
    assert est.privacy_.assumptions[-1] == rule
    hot = baselines.DPME(eps=INF, bounds=dplr.Bounds({"work": {"levels": ["none", "all"]}})).fit(frame[["work"]], [1])
    assert not any("the middle level" in said for said in hot.privacy_.assumptions)


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
    text = inspect.cleandoc(getattr(baselines, name).__doc__)
    assert "Privacy\n-------" in text
    assert "Examples\n--------" in text
