"""Folds inside one client: the last models of a stack or a chain learn from predictions that folds decide."""

import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import StackingRegressor
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.multioutput import ClassifierChain, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dplr

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (200, 2))
Y = np.tile([0, 1], 100)
TWO = np.column_stack([Y, 1 - Y])
SHUFFLED = StratifiedKFold(2, shuffle=True, random_state=0)
HALVES = PredefinedSplit(np.arange(200) % 2)
NUMBERS = dplr.LinearRegression(eps=1.0)
LABELS = dplr.LogisticRegression(eps=1.0)
COUNTED = dplr.LinearRegression(eps=1.0, neighbouring="add_remove", n_rows=200)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "id": np.arange(200) // 2})
BOUNDS = dplr.Bounds({"a": (-1, 1), "b": (-1, 1)}, person="id", target=(0, 1))
PERSONS = dplr.LinearRegression(eps=1.0, bounds=BOUNDS, neighbouring="add_remove", n_rows=100)
FIXED = PERSONS.__class__(eps=1.0, bounds=BOUNDS)


class ByLabels:
    """A splitter of one's own, which cuts by the labels."""

    def split(self, X, y=None, groups=None):
        return SHUFFLED.split(X, y)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2


class Doubled(KFold):
    """Training rows twice."""

    def split(self, X, y=None, groups=None):
        return ((np.tile(train, 2), test) for train, test in super().split(X))


UNKNOWN = {"of one's own": ByLabels(), "derived": Doubled(2), "a list": list(SHUFFLED.split(X, Y))}


def stack(model, cv, last=NUMBERS):
    return lambda: StackingRegressor([("a", model)], last, cv=cv).fit(TABLE if model.bounds else X, Y)


CASES = {
    "stack by labels": (stack(NUMBERS, SHUFFLED), "cut by the labels"),
    "chain by labels": (lambda: RegressorChain(NUMBERS, cv=SHUFFLED).fit(X, TWO), "cut by the labels"),
    "chain by a number": (lambda: ClassifierChain(LABELS, cv=2).fit(X, TWO), "cut by the labels"),
    "stack by groups": (stack(NUMBERS, GroupKFold(2)), "or by groups"),
    "stack in a pipeline": (
        lambda: make_pipeline(FunctionTransformer(), StackingRegressor([("a", NUMBERS)], NUMBERS, cv=SHUFFLED)).fit(
            X, Y
        ),
        "cut by the labels",
    ),
    "stack by position": (stack(COUNTED, KFold(2)), 'folds under neighbouring="add_remove"'),
    "stack by a number": (stack(COUNTED, 2), 'folds under neighbouring="add_remove"'),
    "stack by default": (stack(COUNTED, None), 'folds under neighbouring="add_remove"'),
    "stack by a list": (stack(COUNTED, list(KFold(2).split(X))), 'folds under neighbouring="add_remove"'),
    "final alone": (stack(NUMBERS, KFold(2), last=COUNTED), 'folds under neighbouring="add_remove"'),
    "chain by position": (lambda: RegressorChain(COUNTED, cv=3).fit(X, TWO), 'folds under neighbouring="add_remove"'),
    "stack of persons by rows": (stack(PERSONS, KFold(2)), "folds of persons"),
    "stack of counted persons": (stack(FIXED, HALVES), "folds of persons"),
    **{f"stack, splitter {name}": (stack(NUMBERS, cv), "not of scikit-learn") for name, cv in UNKNOWN.items()},
    "chain, splitter": (lambda: RegressorChain(NUMBERS, cv=ByLabels()).fit(X, TWO), "not of scikit-learn"),
}
GOOD = {
    "by position": stack(NUMBERS, KFold(2)),
    "by public facts": stack(COUNTED, HALVES, last=COUNTED),
    "chain": lambda: RegressorChain(NUMBERS, cv=KFold(2)).fit(X, TWO),
    "chain without folds": lambda: RegressorChain(COUNTED).fit(X, TWO),
    "chain by a number": lambda: RegressorChain(NUMBERS, cv=2).fit(X, X),
    "of persons": stack(PERSONS, PredefinedSplit([zlib.crc32(b"%d" % each) % 2 for each in TABLE["id"]]), last=COUNTED),
}


def test_one_label_moves_most_rows_of_shuffled_strata():
    """Why: the strata are shuffled one after the other, so a label more in one of them deals all others anew."""
    labels = np.repeat([0, 1], 1000)
    other = labels.copy()
    other[0] = 1
    moved = {}
    for shuffled in (False, True):
        cv = StratifiedKFold(5, shuffle=shuffled, random_state=0 if shuffled else None)
        folds = np.empty((2, 2000), int)
        for row, each in enumerate((labels, other)):
            for fold, (_, test) in enumerate(cv.split(each, each)):
                folds[row, test] = fold
        moved[shuffled] = (folds[0] != folds[1]).sum()
    assert moved[False] < 20
    assert moved[True] > 1500


def test_the_group_of_one_record_moves_other_groups():
    groups = np.random.default_rng(0).integers(0, 30, 600)
    other = groups.copy()
    most = 0
    for record in range(60):
        other[record] = (groups[record] + 1) % 30
        folds = np.empty((2, 600), int)
        for row, each in enumerate((groups, other)):
            for fold, (_, test) in enumerate(GroupKFold(5).split(each, groups=each)):
                folds[row, test] = fold
        most = max(most, (folds[0] != folds[1]).sum())
        other[record] = groups[record]
    assert most > 60


@pytest.mark.parametrize("kind", [GroupKFold, GroupShuffleSplit])
@pytest.mark.parametrize("model", [NUMBERS, COUNTED], ids=["replace_one", "add_remove"])
def test_folds_of_groups_are_warned_of_without_persons_too(model, kind):
    with pytest.warns(dplr.PrivacyWarning, match="one record of another group moves other rows"):
        cross_validate(model, X, Y, groups=np.arange(200) % 7, cv=kind(2))


@pytest.mark.parametrize("name", UNKNOWN)
def test_folds_by_no_known_rule_are_warned_of(name):
    with pytest.warns(dplr.PrivacyWarning, match="cut by a splitter that is not of scikit-learn, or by a list: if"):
        cross_validate(NUMBERS, X, Y, cv=UNKNOWN[name])


@pytest.mark.parametrize("case", CASES)
def test_folds_by_which_one_record_moves_others_are_refused(case, entropy):
    run, words = CASES[case]
    with pytest.raises(ValueError, match=r"in a stack or a chain w.*: it cuts folds") as raised:
        run()
    assert words in str(raised.value)
    assert entropy.bytes == 0


@pytest.mark.parametrize("case", GOOD)
def test_folds_by_public_facts_are_taken_and_every_fit_is_covered(case, reserved):
    GOOD[case]()
    assert len(reserved) == (2 if case == "chain without folds" else 4)  # two models, and the two folds of the first
    assert {each.uncovered for each in reserved} == {()}


def test_without_noise_any_folds_will_do(reserved):
    exact = dplr.LinearRegression(eps=float("inf"))
    client = stack(exact, SHUFFLED, last=exact)()
    assert client.final_estimator_.privacy_.uncovered == ()
    assert [each.eps for each in reserved] == [float("inf")] * 4


def test_a_member_whose_noise_is_known_is_refused_as_a_plain_one():
    for member in (
        dplr.LinearRegression(eps=1.0, rng=0),
        dplr.PrivateSearch(dplr.LinearRegression(eps=1.0, mechanism="fm", rng=0), {"l2": [0.1, 1.0]}),
    ):
        with pytest.raises(ValueError, match=r"a stack with a member that is not private"):
            StackingRegressor([("a", member)], NUMBERS, cv=KFold(2)).fit(X, Y)


CONDITION = "the order of the rows says nothing of any record"
CLIENTS = {  # and whether they fit folds
    "fit": (lambda model: [model.fit(X, Y)], False),
    "folds": (lambda model: cross_validate(model, X, Y, cv=KFold(2, shuffle=True), return_estimator=True), True),
    "a search's last fit": (lambda model: [GridSearchCV(model, {"l2": [0.1]}, cv=KFold(2)).fit(X, Y)], False),
    "a stack": (lambda model: [stack(model, KFold(2, shuffle=True), last=model)()], True),
    "a stack, folds by position": (lambda model: [stack(model, None, last=clone(model))()], True),
    "a stack that was fitted before": (lambda model: [stack(model.fit(X, Y), "prefit", last=clone(model))()], False),
    "a chain": (lambda model: RegressorChain(model, cv=KFold(2)).fit(X, TWO).estimators_, True),
    "a chain without folds": (lambda model: RegressorChain(model).fit(X, TWO).estimators_, False),
}


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
@pytest.mark.parametrize("name", CLIENTS)
def test_the_statement_of_a_fit_to_folds_says_what_the_order_of_rows_must_not(name):
    """The fits of all folds are as private as their statements add up to only where no record moves another one."""
    run, says = CLIENTS[name]
    found = run(NUMBERS.__class__(eps=1.0))
    models = found["estimator"] if isinstance(found, dict) else found
    models = [getattr(m, "final_estimator_", getattr(m, "best_estimator_", m)) for m in models]
    assert [any(CONDITION in fact for fact in m.privacy_.assumptions) for m in models] == [says] * len(models)


def test_whoever_is_told_to_pass_kfold_is_told_its_condition():
    with pytest.raises(ValueError, match=r"Pass cv=KFold\(5, shuffle=True\), without a seed") as raised:
        stack(NUMBERS, SHUFFLED)()
    with pytest.warns(dplr.PrivacyWarning, match=r"Pass cv=KFold\(5, shuffle=True\), without a seed") as warned:
        cross_validate(LABELS, X, Y, cv=2)
    for said in (raised.value, warned[0].message):
        assert CONDITION in str(said)
