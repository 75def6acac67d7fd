"""A model of two labels is about the second one as declared, and everything that it prints or exports says which."""

import itertools
import math
import sqlite3

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

import dplr
from dplr import baselines
from dplr.report import report_html

pytestmark = pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
WELL, ILL = "no disease", "disease"  # as a codebook lists them; sorted they are the other way round
rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.uniform(18, 90, 4000), "dose": rng.uniform(0, 3, 4000)})
Y = np.where(rng.random(4000) < 1 / (1 + np.exp(-(X["age"] - 54) / 10)), ILL, WELL)
COLUMNS = {"age": (18, 90), "dose": (0, 3)}
ORDERS = [(WELL, ILL), (ILL, WELL)]


def bounds(order):
    return dplr.Bounds(COLUMNS, target={"classes": list(order)})


def fitted(order, y=Y, **options):
    return dplr.fit(X, y, **{"bounds": bounds(order), "eps": 3.0, "delta": 1e-6, "rng": 1} | options)


MODELS = {
    "fm": {"mechanism": "fm", "aim": "coefficients"},
    "objective": {"mechanism": "objective"},
    "output": {"mechanism": "output"},
    "ngd": {"mechanism": "ngd"},
    "score": {"mechanism": "score", "aim": "coefficients"},
    "none": {"mechanism": "none", "eps": math.inf, "delta": 0.0},
    "svm": {"model": "svm"},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_the_second_declared_label_is_modelled(options):
    """An odds ratio was .005 where 199 was meant."""
    for order in ORDERS:
        est = fitted(order, **options)
        assert est.outcome_ == order[1]
        assert (est.named_coef_["age"] > 0) is (order[1] == ILL)
        assert f"the labels {list(order)}, declared" in est.privacy_.assumptions
        # What scikit-learn reads is in the order that it takes for granted.
        assert est.classes_.tolist() == sorted(order)
        assert est.score(X, Y) > 0.75
        assert get_scorer("roc_auc")(est, X, Y) > 0.85
        assert_array_equal(est.predict(X), est.classes_[(est.decision_function(X) > 0).astype(int)])
        if hasattr(est, "predict_proba"):
            assert get_scorer("neg_log_loss")(est, X, Y) > -0.6
            assert_array_equal(est.predict_proba(X)[:, 1] > 0.5, est.decision_function(X) > 0)
            assert_allclose(np.exp(est.predict_log_proba(X)), est.predict_proba(X))


@pytest.mark.parametrize(
    ("labels", "order"),
    [((0, 1), (1, 0)), ((False, True), (True, False)), ((-1, 1), (1, -1)), ((2.0, 5.0), (5.0, 2.0))],
    ids=str,
)
def test_numbers_and_booleans_have_their_declared_order_too(labels, order):
    y = np.where(Y == ILL, labels[1], labels[0])
    for values in (y, y.astype(object), pd.Series(y)):
        est = fitted(order, values, eps=math.inf, delta=0.0)
        assert est.outcome_ == order[1]
        assert (est.named_coef_["age"] > 0) is (order[1] == labels[1])
        assert est.score(X, y) > 0.75


def test_the_order_of_the_parameter_and_of_the_bounds_must_be_one():
    with pytest.raises(ValueError, match=r"`classes` must agree with the bounds.*declare them once, or in one order"):
        fitted((WELL, ILL), classes=(ILL, WELL))
    assert fitted((WELL, ILL), classes=(WELL, ILL)).outcome_ == ILL
    est = dplr.LogisticRegression(eps=3.0, classes=(WELL, ILL), rng=1).fit(X / 100, Y)
    assert est.outcome_ == ILL


def test_three_labels_have_a_model_each_in_any_order():
    y = np.where(X["dose"] > 2, "high", Y)
    for order in itertools.permutations(("high", WELL, ILL)):
        est = fitted(order, y)
        assert est.classes_.tolist() == sorted(order)
        assert est.outcome_ is None
        assert est.coef_[est.classes_.tolist().index("high")][1] > 0


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_every_table_and_ratio_names_its_outcome(order):
    est = fitted(order, aim="coefficients", mechanism="score")
    named = f"y = {order[1]}"
    summary = est.summary()
    for text in (summary.to_text(), summary.to_latex(), summary.to_html(), str(est.marginal_effects()),
                 str(est.effects()), str(est.contrast("age - dose"))):  # fmt: skip
        assert named in text
    assert f"“{order[1]}”" in report_html(est)
    age = next(ratio for ratio in summary.odds_ratios({"age": 10}) if ratio.name == "age")
    assert age.label == named
    assert (age.low > 2) if order[1] == ILL else (age.high < 0.5)
    intervals = est.predict_interval(X[:50])
    assert intervals.about == named
    column = est.classes_.tolist().index(order[1])
    assert_allclose(intervals.estimate, est.predict_proba(X[:50])[:, column], atol=0.1)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_exports_and_files_predict_as_the_model_does(order, tmp_path):
    est = fitted(order)
    dplr.save_model(est, tmp_path / "model.json")
    loaded = dplr.load_model(tmp_path / "model.json")
    refit = fitted(order, mechanism="fm").refit(l2=0.5)
    assert loaded.outcome_ == refit.outcome_ == order[1]
    assert_array_equal(loaded.coef_, est.coef_)
    assert_array_equal(loaded.predict_proba(X), est.predict_proba(X))
    pipeline = est.to_sklearn()
    assert_allclose(pipeline.predict_proba(X), est.predict_proba(X), rtol=1e-10)
    assert_array_equal(pipeline.predict(X), est.predict(X))
    assert refit.score(X, Y) > 0.75
    base = sqlite3.connect(":memory:")
    X.to_sql("people", base)
    for k, label in enumerate(est.classes_.tolist()):
        found = base.execute(f'SELECT "probability of {label}" FROM ({est.to_sql("probability", table="people")})')
        assert_allclose([value for (value,) in found], est.predict_proba(X)[:, k], rtol=1e-10)
    decided = [value for (value,) in base.execute(est.to_sql(table="people"))]
    assert_array_equal(decided, est.predict(X))
    margin = est.to_sql("margin", table="people")
    assert f'"margin of {est.classes_[1]}"' in margin
    assert_allclose([value for (value,) in base.execute(margin)], est.decision_function(X), rtol=1e-10)


def test_a_file_with_another_order_than_the_declared_one_is_refused(tmp_path):
    from forgeries import forgery

    est = fitted((WELL, ILL))
    path = forgery(est, tmp_path / "model.json", lambda model: model["classes"]["labels"].reverse())
    with pytest.raises(dplr.model_file.ModelFileError, match=r"must be the declared ones, \['no disease', 'disease'\]"):
        dplr.load_model(path)
    est = dplr.LogisticRegression(eps=3.0, rng=1).fit(X / 100, Y == ILL)
    path = forgery(est, tmp_path / "own.json", lambda model: model["classes"]["labels"].reverse())
    with pytest.raises(dplr.model_file.ModelFileError, match="must be sorted where nobody declared them"):
        dplr.load_model(path)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_an_evaluation_counts_the_second_declared_label_as_positive(order):
    est, options = fitted(order), {"eps": math.inf}
    share = np.mean([label == order[1] for label in Y])
    both = est.predict_proba(X)[:, [est.classes_.tolist().index(label) for label in order]]
    chance = both[:, 1]
    plain = LogisticRegression().fit(X, Y)  # which names its labels in sorted order
    for model, rows, more in (
        (est, X, {}), (chance, None, {"classes": order}), (both, None, {"classes": order}),
        (plain, X, {"classes": order}), (est.to_sklearn(), X, {"classes": order}),
    ):  # fmt: skip
        result = dplr.evaluate(model, rows, Y, **options, **more)
        assert result.classes == order
        assert result.prevalence.estimate == pytest.approx(share)
        assert result.auc.estimate > 0.85
        assert f"positive          {order[1]}" in str(result)
    decided = dplr.evaluate(est, X, Y, decisions=True, **options)
    assert decided.accuracy.estimate == pytest.approx(est.score(X, Y))
    other = fitted(order[::-1])
    pair = dplr.evaluate(est, X, Y, against=other, **options)
    assert pair.classes == order
    assert abs(pair.measures["accuracy"].estimate) < 0.05
    assert abs(pair.measures["recall"].estimate) < 0.1
    by_names = dplr.evaluate(
        est.predict(X), None, Y, against=other.predict(X), classes=order, decisions=True, **options
    )
    assert by_names.measures == pair.measures


def test_arrays_of_three_columns_are_in_the_order_that_was_declared():
    y = np.where(X["dose"] > 2, "high", Y)
    sure = np.stack([y == label for label in (WELL, "high", ILL)], axis=1) * 0.9 + 0.05
    result = dplr.evaluate(sure, None, y, classes=(WELL, "high", ILL), eps=math.inf)
    assert result.accuracy.estimate == pytest.approx(1.0)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_rows_held_out_are_evaluated_for_the_second_declared_label(order, tmp_path):
    est = fitted(order, holdout=0.25)
    assert est.evaluation_.classes == order
    assert est.evaluation_.auc.estimate > 0.8
    dplr.save_model(est, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").evaluation_.classes == order


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_a_public_model_starts_a_fit_in_the_direction_of_its_own_label(order):
    plain = LogisticRegression(C=np.inf).fit(X, Y)
    for public in (plain, fitted(ORDERS[0], eps=math.inf, delta=0.0), fitted(ORDERS[1], eps=math.inf, delta=0.0)):
        plan = dplr.plan(n_rows=4000, bounds=bounds(order), eps=1.0, public=public)
        assert (plan.problem.w0[0] > 0) is (order[1] == ILL)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_baselines_and_searches_are_about_the_second_declared_label(order):
    est = baselines.DPME(eps=30.0, bounds=bounds(order), rng=7).fit(X, Y)
    assert est.outcome_ == order[1]
    assert bool(est.coef_[0][0] > 0) is (order[1] == ILL)
    assert est.score(X, Y) > 0.7
    rows, labels, weights = est.points()
    older = rows[:, 0] > 70
    assert weights[older & (labels == ILL)].sum() > weights[older & (labels == WELL)].sum()
    model = dplr.LogisticRegression(eps=3.0, bounds=bounds(order), rng=1)
    search = dplr.PrivateSearch(model, {"l2": [0.01, 0.1]}).fit(X, Y)
    assert dplr.evaluate(search, X, Y, eps=math.inf).classes == order


def test_weights_of_labels_go_to_their_labels():
    est = [fitted(order, class_weight={ILL: 5.0, WELL: 1.0}, eps=math.inf, delta=0.0) for order in ORDERS]
    assert_allclose(est[0].coef_, -est[1].coef_, rtol=1e-4)
    assert (est[0].predict(X) == ILL).mean() > 0.6
