"""Persons and weights as users give them: in fits, plans and predictions, and nowhere else."""

import copy
import math
import pickle
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit, ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dplr
from declared_units import declared

pl = pytest.importorskip("polars", reason="polars has no wheel for this Python")

SECRET = "Ingeborg-4711"
BOUNDS = {"a": (0, 1), "b": (0, 1)}
POSITIONS = dplr.Bounds([(0, 1), (0, 1)])
PLAIN = {"eps": math.inf, "mechanism": "fm", "bounds": BOUNDS}


def table(n=600, persons=150):
    rng = np.random.default_rng(3)
    ids = rng.integers(0, persons, n)
    ids[:persons] = np.arange(persons)
    frame = pd.DataFrame({"a": rng.uniform(0, 1, n), "b": rng.uniform(0, 1, n)})
    frame["id"] = [f"{SECRET}-{each}" for each in ids]
    frame["w"] = rng.uniform(0, 300, n)
    return frame, (frame["a"] > frame["b"] + rng.normal(0, 0.3, n)).to_numpy().astype(int)


FRAME, Y = table()
X = FRAME[["a", "b"]]


def coefficients(est):
    return np.append(est.coef_.ravel(), est.intercept_)


# What a fit takes


def test_ids_are_the_same_as_a_column_of_the_bounds_of_the_model_and_of_the_fit():
    every = [
        dplr.fit(FRAME, Y, person="id", **PLAIN),
        dplr.fit(X, Y, person=FRAME["id"], **PLAIN),
        dplr.fit(X, Y, person=FRAME["id"].to_numpy(), **PLAIN),
        dplr.LogisticRegression(person="id", **PLAIN).fit(FRAME, Y),
        dplr.LogisticRegression(**PLAIN).fit(FRAME, Y, person="id"),
        dplr.LogisticRegression(**{**PLAIN, "bounds": dplr.Bounds(BOUNDS, person="id")}).fit(FRAME, Y),
        dplr.fit(pl.from_pandas(FRAME), Y, person="id", **PLAIN),
        dplr.fit(pa.Table.from_pandas(FRAME), Y, person="id", **PLAIN),
        dplr.fit_many(FRAME, Y, person="id", **{**PLAIN, "eps": [math.inf]})[0],
    ]
    labels = [est.privacy_.unit.person for est in every]
    assert labels == ["id", "id", "person", *["id"] * 6]
    for est in every:
        np.testing.assert_array_equal(coefficients(est), coefficients(every[0]))
        assert list(est.feature_names_in_) == ["a", "b"]
        assert "the number of persons = 150" in est.privacy_.assumptions
    assert not np.array_equal(coefficients(dplr.fit(X, Y, **PLAIN)), coefficients(every[0]))


def test_a_person_whose_rows_are_repeated_counts_as_often_as_before():
    once = dplr.fit(X, Y, person=np.arange(len(X)), **PLAIN)
    twice = dplr.fit(pd.concat([X, X]), np.append(Y, Y), person=np.tile(np.arange(len(X)), 2), **PLAIN)
    np.testing.assert_allclose(coefficients(once), coefficients(twice), atol=1e-4)
    np.testing.assert_array_equal(coefficients(once), coefficients(dplr.fit(X, Y, **PLAIN)))


def test_weights_at_their_cap_leave_the_model_as_it_is_and_labels_weigh_as_rows_do():
    full = dplr.fit(X, Y, sample_weight=np.full(len(X), 9.0), **declared({**PLAIN, "weight_max": 3}))
    np.testing.assert_allclose(coefficients(full), coefficients(dplr.fit(X, Y, **PLAIN)), rtol=1e-9)
    by_label = dplr.fit(X, Y, class_weight={0: 1, 1: 4.0}, **PLAIN)
    by_row = dplr.fit(X, Y, sample_weight=np.where(Y, 4.0, 1.0), **declared({**PLAIN, "weight_max": 4}))
    np.testing.assert_array_equal(coefficients(by_label), coefficients(by_row))
    assert by_label.privacy_.unit.class_weights == (("0", 1.0), ("1", 4.0))


def test_columns_of_ids_and_weights_are_not_features_and_predictions_ignore_them():
    for bounds in (BOUNDS, POSITIONS):
        options = declared({**PLAIN, "bounds": bounds, "weight_max": 200})
        est = dplr.fit(FRAME, Y, person="id", sample_weight="w", **options)
        assert est.coef_names_ == ("a", "b")
        shown = est.predict_proba(X)
        for rows in (FRAME, FRAME.drop(columns="w"), FRAME.drop(columns="id"), pl.from_pandas(FRAME)):
            np.testing.assert_array_equal(est.predict_proba(rows), shown)
    with pytest.raises(ValueError, match="feature names should match"):
        est.predict(FRAME.assign(other=1.0))
    counted = dplr.LogisticRegression(**{**PLAIN, "bounds": None})
    with pytest.warns(dplr.DataWarning):
        assert counted.fit(X, Y, person=FRAME["id"]).predict(FRAME[["a", "b", "id"]]).shape == Y.shape


def test_several_classes_and_numbers_have_persons_too():
    third = np.digitize(FRAME["a"], [0.3, 0.6])
    est = dplr.fit(FRAME, third, person="id", classes=[0, 1, 2], class_weight={0: 1, 1: 2, 2: 3}, **PLAIN)
    assert est.coef_.shape == (3, 2)
    linear = {**PLAIN, "bounds": dplr.Bounds(BOUNDS, target=(0, 1), rows_per_person=3), "model": "linear"}
    assert dplr.fit(FRAME, FRAME["a"], person="id", **linear).privacy_.unit.rows_per_person == 3


# What a fit refuses, before any noise

REFUSED = [
    ({"person": "ids"}, ValueError, "`X` must have the column 'ids'"),
    ({"person": "a"}, ValueError, "`bounds` must not name the column of ids or weights"),
    ({"person": FRAME["id"]}, ValueError, "`person` must not be given beside a column 'id' of X"),
    ({"person": FRAME["id"].to_numpy()[:-1]}, ValueError, "person"),
    ({"person": FRAME[["id"]].to_numpy()}, ValueError, "person"),
    ({"person": ""}, ValueError, "`person` must not be empty"),
    ({"person": "\ud800"}, ValueError, "`person` must be text that UTF-8 can write"),
    ({"person": "id", "n_rows": 600}, ValueError, "`n_rows` must be the number of persons, 150, under replace_one"),
    ({"sample_weight": "w"}, ValueError, "`weight_max` is required with sample_weight"),
    ({"weight_max": 200}, ValueError, "`sample_weight` is required with weight_max"),
    ({"rows_per_person": 2}, ValueError, "`rows_per_person` must be 1 without persons; got 2. Name the column"),
    ({"sample_weight": "w", "person": "w", "weight_max": 9}, ValueError, "must not be the column of the ids"),
    ({"sample_weight": -FRAME["w"], "weight_max": 9}, ValueError, "`sample_weight`"),
    ({"class_weight": "balanced"}, TypeError, "'balanced' would take them from the private labels"),
    ({"class_weight": {0: 1}}, ValueError, r"`class_weight` must name every label, \[0, 1\]"),
    ({"class_weight": {0: 1, 1: 0}}, ValueError, "`class_weight` must be positive and finite for 1"),
    ({"class_weight": {0: 1, 1: "2"}}, TypeError, "`class_weight` must be a number for 1"),
    ({"class_weight": {0: 1, 1: 2}, "model": "linear"}, ValueError, "`class_weight` must be None with model"),
    ({"person": "id", "delta": 0.004}, None, ""),
    ({"person": "id", "delta": 0.007}, ValueError, "a person could be published whole"),
]


@pytest.mark.parametrize(("change", "error", "message"), REFUSED)
def test_contradictions_and_bad_values_are_refused_before_any_noise(change, error, message, entropy):
    options = declared({"eps": 1.0, "mechanism": "fm", "bounds": BOUNDS, **change})
    if error is None:
        assert dplr.fit(FRAME, Y, **options).privacy_.delta in (0.0, 0.004)
        return
    with pytest.raises(error, match=message) as caught:
        dplr.fit(FRAME, Y, **options)
    assert SECRET not in str(caught.value)
    assert SECRET.encode() not in pickle.dumps(caught.value)
    assert entropy.bytes == 0


@pytest.mark.parametrize(
    ("bounds", "change", "message"),
    [
        ({"person": "id"}, {"person": "other"}, "`person` must be 'id', as the bounds say"),
        ({"weight": "w", "weight_max": 9}, {"sample_weight": "v"}, "`sample_weight` must be 'w', which was declared"),
    ],
)
def test_bounds_and_parameters_that_contradict_each_other_are_refused(bounds, change, message, entropy):
    with pytest.raises(ValueError, match=message):
        dplr.fit(FRAME, Y, eps=1.0, bounds=dplr.Bounds(BOUNDS, **bounds), **change)
    assert entropy.bytes == 0


def test_bounds_alone_say_all_of_it_and_may_be_said_again():
    bounds = dplr.Bounds(BOUNDS, person="id", rows_per_person=2, weight="w", weight_max=200)
    est = dplr.fit(FRAME, Y, eps=1.0, mechanism="fm", bounds=bounds)
    again = {"person": "id", "sample_weight": "w"}
    assert dplr.fit(FRAME, Y, eps=1.0, mechanism="fm", bounds=bounds, **again).privacy_.unit == est.privacy_.unit
    assert est.privacy_.unit == dplr.plan(n_rows=150, eps=1.0, bounds=bounds).statement.unit


def test_missing_ids_are_counted_and_never_shown(entropy):
    ids = FRAME["id"].copy()
    ids[3] = None
    with pytest.raises(ValueError, match="person") as caught:
        dplr.fit(X, Y, eps=1.0, bounds=BOUNDS, person=ids)
    assert SECRET not in str(caught.value)
    assert entropy.bytes == 0


# What is said, and what never is


def test_plan_and_statement_say_persons():
    facts = {"eps": 1.0, "mechanism": "fm", "person": "id", "class_weight": {0: 1, 1: 2}}
    est = dplr.fit(FRAME, Y, sample_weight="w", bounds=dplr.Bounds(BOUNDS, weight_max=200), **facts)
    bounds = dplr.Bounds(BOUNDS, target={"classes": [0, 1]}, weight_max=200)
    plan = dplr.plan(n_rows=150, bounds=bounds, **facts)
    assert plan.statement.unit == est.privacy_.unit
    assert plan.statement.released == est.privacy_.released
    lines = str(est.privacy_)
    assert "one person with all their rows replaced by another; the number of persons is" in lines
    assert "one person is all rows with one value of id; each of m rows counts 1/m" in lines
    assert "weights are clipped to [0, 200] and divided by 200" in lines
    assert "labels have the public weights 0: 1, 1: 2, divided by the largest" in lines
    under = dplr.plan(bounds=BOUNDS, eps=1.0, mechanism="fm", person="id", neighbouring="add_remove")
    assert "one person with all their rows added or removed; the number of persons is" in str(under)
    with pytest.warns(dplr.PrivacyWarning, match="one person may make"):
        dplr.plan(n_rows=150, bounds=BOUNDS, eps=20.0, mechanism="fm", person="id")


@pytest.mark.parametrize("call", [dplr.plan_curve, dplr.plan_target])
def test_simulations_refuse_factors_of_labels(call):
    with pytest.raises(TypeError, match=f"`class_weight` is no parameter of {call.__name__}. Public factors of labels"):
        call(n_rows=1000, bounds=BOUNDS, eps=1.0, class_weight={0: 1, 1: 2})


def test_no_id_stays_in_a_model_in_any_form(tmp_path):
    est = dplr.fit(FRAME, Y, eps=1.0, mechanism="fm", bounds=BOUNDS, person="id")
    apart = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=BOUNDS).fit(X, Y, person=FRAME["id"])
    for model in (est, apart, est.refit(l2=1.0)):
        assert SECRET.encode() not in pickle.dumps(model)
        assert SECRET not in f"{model!r} {model.privacy_!r} {model._repr_html_()} {vars(model)}"
        assert model.privacy_.unit.person == "id"
    assert est.refit(l2=1.0).predict(FRAME).shape == Y.shape


# Clients of scikit-learn


@pytest.mark.filterwarnings("ignore:a function of FunctionTransformer:dplr.PrivacyWarning")
def test_ids_and_weights_travel_by_metadata_routing_through_pipelines_and_folds():
    with sklearn.config_context(enable_metadata_routing=True):
        est = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=dplr.Bounds([(0, 1)] * 2, weight_max=200))
        est.set_fit_request(sample_weight=True, person=True)
        pipe = make_pipeline(FunctionTransformer(np.asarray), est)
        pipe.fit(X, Y, person=FRAME["id"], sample_weight=FRAME["w"])
        assert pipe[-1].privacy_.unit.person == "id"
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=False)
        groups, given = FRAME["id"], {"person": FRAME["id"].to_numpy(), "sample_weight": FRAME["w"].to_numpy()}
        options = {"cv": GroupKFold(3), "params": {"groups": groups, **given}, "scoring": scorer}
        with pytest.warns(dplr.PrivacyWarning, match="Folds hold whole persons, and are cut by their number and their"):
            done = cross_validate(pipe, X, Y, return_estimator=True, **options)
    for fitted in done["estimator"]:
        assert fitted[-1].privacy_.unit.person == "person"
        assert "the number of persons = 100" in fitted[-1].privacy_.assumptions


def fold_of(ids):
    """The fold of each id by a public rule, so that nobody's rows move another person."""
    return [zlib.crc32(each.encode()) % 3 for each in ids]


def test_folds_by_a_public_rule_of_ids_are_not_warned_of_and_all_others_are():
    est = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=BOUNDS, person="id", neighbouring="add_remove")
    folds = PredefinedSplit(fold_of(FRAME["id"]))
    with pytest.warns(dplr.PrivacyWarning) as told:
        search = GridSearchCV(clone(est).set_params(n_rows=150), {"l2": [0.1, 1.0]}, cv=folds).fit(FRAME, Y)
    assert not any("Folds are cut" in str(each.message) for each in told)
    assert search.best_estimator_.privacy_.unit.person == "id"
    for train, test in folds.split():
        assert not set(FRAME["id"].iloc[train]) & set(FRAME["id"].iloc[test])
    for cv, groups, message in (
        (KFold(3), None, "Folds are cut by rows, so a person may lie in several of them"),
        (ShuffleSplit(2, random_state=0), None, "Folds are cut by rows, so a person may lie in several of them"),
        (GroupKFold(3), FRAME["id"], "Folds hold whole persons, and are cut by their number and their rows"),
    ):
        for relation in ("replace_one", "add_remove"):
            with pytest.warns(dplr.PrivacyWarning, match=message):
                cross_validate(clone(est).set_params(neighbouring=relation), FRAME, Y, cv=clone_of(cv), groups=groups)


def clone_of(cv):
    """A splitter that was not warned of yet."""
    return copy.copy(cv)


def test_one_person_with_more_rows_moves_others_in_folds_by_groups():
    ids = np.repeat(np.arange(9), [5, 4, 4, 3, 3, 2, 2, 1, 1])
    before = {each: fold for fold, (_, test) in enumerate(GroupKFold(3).split(ids, groups=ids)) for each in ids[test]}
    more = np.append(ids, [8] * 5)
    after = {each: fold for fold, (_, test) in enumerate(GroupKFold(3).split(more, groups=more)) for each in more[test]}
    assert sum(before[each] != after[each] for each in range(8)) > 1


def test_bags_refuse_persons_and_weights(entropy):
    regression = dplr.LinearRegression(eps=1.0, bounds=dplr.Bounds([(0, 1), (0, 1)], target=(0, 1)))
    bag = {"bootstrap": False, "max_samples": 9, "n_estimators": 2}
    with pytest.raises(ValueError, match="a bag: it draws rows and not persons"):
        BaggingRegressor(regression.set_params(person="id"), **bag).fit(X.to_numpy(), Y / 2)
    with pytest.raises(ValueError, match="a bag with weights: it draws rows by their weights"):
        BaggingRegressor(regression.set_params(person=None), **bag).fit(X.to_numpy(), Y / 2, sample_weight=FRAME["w"])
    assert entropy.bytes == 0
