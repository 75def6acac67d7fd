"""docs/trust/attack-model.md, "scikit-learn around a private model": what clients touch beside our release."""

import functools
import inspect
import math
import pathlib
import re
import warnings

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn import base, inspection, model_selection
from sklearn.calibration import CalibrationDisplay
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import AdaBoostClassifier, StackingClassifier, VotingClassifier, VotingRegressor
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import DecisionBoundaryDisplay, partial_dependence, permutation_importance
from sklearn.model_selection import FixedThresholdClassifier, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.discovery import all_displays, all_estimators

import dplr

ROOT = pathlib.Path(__file__).parents[2]
SECTION = "\n## scikit-learn around a private model\n"
BOUNDS = dplr.Bounds([(-1, 1)] * 2)
NUMERIC = dplr.Bounds([(-1, 1)] * 2, target=(-1, 1))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    return X, (X[:, 0] > 0.1).astype(int)


@pytest.fixture
def fits(monkeypatch):
    """The eps of every reservation of this process."""
    from dplr.ledger.budget import NullLedger

    made = []
    real = NullLedger.reserve
    monkeypatch.setattr(
        NullLedger, "reserve", lambda self, *told: made.extend(one.eps for one in told) or real(self, *told)
    )
    return made


@pytest.fixture(scope="module")
def model(data):
    return dplr.LogisticRegression(eps=1.0, bounds=BOUNDS).fit(*data)


def flipped(y, row=0):
    other = y.copy()
    other[row] = 1 - other[row]
    return other


# The table and the pages


def table():
    """The cells of the rows."""
    text = (ROOT / "docs" / "trust" / "attack-model.md").read_text().partition(SECTION)[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


@functools.cache  # it looks at every class of scikit-learn, and each page is compared with it
def clients():
    """The public names of scikit-learn that take an estimator or learn from rows before one."""
    takes = {"estimator", "estimators", "regressor", "steps", "transformers", "transformer_list"}
    found = {"clone", "make_pipeline", "make_column_transformer", "train_test_split", "resample"}
    for name, kind in all_estimators():
        if takes & parameters(kind) or issubclass(kind, base.TransformerMixin):
            found.add(name)
    found |= {"GradientBoostingClassifier", "GradientBoostingRegressor", "IterativeImputer"}  # `init`, and experimental
    found |= {name for name, kind in all_displays() if hasattr(kind, "from_estimator")}
    for module in (model_selection, inspection):
        things = [(name, vars(module).get(name)) for name in module.__all__]  # some need an import of their own
        found |= {name for name, thing in things if inspect.isfunction(thing) and "estimator" in parameters(thing)}
    return found


def parameters(thing):
    return set(inspect.signature(thing).parameters)


def named(text):
    return set(re.findall(r"\b[A-Za-z_]\w+\b", text)) & clients()


def test_every_client_that_the_docs_name_has_a_row():
    rows = set().union(*(named(cells[0]) for cells in table()))
    assert {"clone", "CalibratedClassifierCV", "Pipeline", "GridSearchCV", "cross_val_score"} <= rows
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
    for page in pages:
        assert named(page.read_text()) - rows == set(), page.name


def test_every_row_says_what_is_touched_and_what_to_do():
    for cells in table():
        assert len(cells) == 4, cells
        assert all(cells), cells


def test_what_the_table_calls_refused_is_what_the_code_refuses():
    from dplr.estimators._callers import REFUSED

    shown = {
        "a bag with bootstrap=True": "BaggingRegressor",
        "a bag of classifiers": "BaggingClassifier",
        "a bag": "BaggingRegressor",
        "a bag with weights": "BaggingRegressor",
        'a bag under neighbouring="add_remove"': "BaggingRegressor",
        "a stack of classifiers": "StackingClassifier",
        "a stack with a `final_estimator` that is not private": "StackingRegressor",
        "a stack with a member that is not private": "StackingRegressor",
        "a stack or a chain whose folds are cut by the labels or by groups": "RegressorChain",
        'a stack or a chain with folds under neighbouring="add_remove"': "RegressorChain",
        "a stack or a chain with folds of persons": "RegressorChain",
        "a stack or a chain with a splitter that is not of scikit-learn": "RegressorChain",
        "a vote with a member that is not private": "VotingRegressor",
        "a vote of classifiers": "VotingClassifier",
        "OneVsRestClassifier or OutputCodeClassifier": "OneVsRestClassifier",
        "gradient boosting that starts from a private model": "GradientBoostingClassifier",
    }
    by_code = {shown.get(client.name, client.name) for several in REFUSED.values() for client in several}
    by_docs = set().union(*(named(cells[0]) for cells in table() if "refused" in cells[1]))
    assert len(by_code) >= 14
    assert by_code <= by_docs
    others = {"OutputCodeClassifier", "GradientBoostingRegressor", "ClassifierChain"}
    assert by_docs - by_code <= others


# What touches nothing but the release


def test_a_selection_from_a_model_is_a_function_of_its_release(data, model, fits):
    X, y = data
    selectors = [SelectFromModel(model, prefit=True).fit(rows, labels) for rows, labels in ((X, y), (-3 * X, 1 - y))]
    assert (selectors[0].get_support() == selectors[1].get_support()).all()
    assert selectors[0].threshold_ == selectors[1].threshold_
    assert fits == []
    SelectFromModel(base.clone(model)).fit(X, y)
    assert fits == [1.0]


def test_a_fixed_threshold_is_post_processing(data, model):
    X, y = data
    client = FixedThresholdClassifier(base.clone(model), threshold=0.3).fit(X, y)
    assert (client.predict(X) == (client.estimator_.predict_proba(X)[:, 1] >= 0.3)).all()
    assert learned(client) <= {"estimator_", "n_features_in_"}


def learned(fitted):
    return {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}


def test_elimination_spends_eps_in_each_step_and_learns_from_releases_alone(fits):
    X = np.random.default_rng(0).uniform(-1, 1, (400, 4))
    RFE(dplr.LogisticRegression(eps=1.0, classes=(0, 1), fit_intercept=False), n_features_to_select=2).fit(
        X / 2, (X[:, 0] > 0).astype(int)
    )
    assert fits == [1.0] * 3


def test_outputs_and_chains_spend_eps_for_each_output(data, fits):
    X, y = data
    MultiOutputClassifier(dplr.LogisticRegression(eps=1.0, bounds=BOUNDS)).fit(X, np.column_stack([y, 1 - y]))
    assert fits == [1.0] * 2
    ClassifierChain(dplr.LogisticRegression(eps=1.0)).fit(X / 2, np.column_stack([y, 1 - y]) / 4 > 0.1)
    assert fits == [1.0] * 4
    RegressorChain(dplr.LinearRegression(eps=1.0)).fit(X / 2, X / 2)
    assert fits == [1.0] * 6


def test_votes_spend_eps_for_each_member(data, fits):
    member = dplr.LinearRegression(eps=1.0, bounds=NUMERIC)
    VotingRegressor([("a", member), ("b", member)]).fit(*data)
    assert fits == [1.0] * 2


def test_public_steps_of_a_pipeline_learn_nothing_and_others_do(data):
    X, y = data
    inside = dplr.LogisticRegression(eps=1.0, bounds=BOUNDS)
    first = {}
    for step in (FunctionTransformer(np.tanh), StandardScaler()):
        pipe = make_pipeline(step, inside)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            first[type(step).__name__] = learned(pipe.fit(X, y)[0])
    assert first["FunctionTransformer"] <= {"n_features_in_"}
    assert {"mean_", "scale_"} <= first["StandardScaler"]


def test_functions_of_a_target_learn_nothing_and_a_transformer_does(data):
    X, _ = data
    inside = dplr.LinearRegression(eps=1.0, bounds=NUMERIC)
    functions = TransformedTargetRegressor(inside, func=np.tanh, inverse_func=np.arctanh).fit(X, X[:, 1] * 0.9)
    assert learned(functions.transformer_) <= {"n_features_in_"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scaled = TransformedTargetRegressor(inside, transformer=StandardScaler()).fit(X, X[:, 1])
    assert scaled.transformer_.mean_[0] == pytest.approx(X[:, 1].mean())


def test_a_clone_holds_nothing_that_was_fitted(model):
    assert learned(base.clone(model)) == set()


# What touches private rows


def test_a_stack_that_ends_in_a_plain_model_shows_one_label_though_the_releases_stay(data, model):
    """Why it is refused: only the final estimator can have changed."""
    X, y = data
    last = []
    for labels in (y, y, flipped(y)):
        with pytest.warns(dplr.PrivacyWarning, match="public rows only"):
            last.append(StackingClassifier([("a", model)], cv="prefit").fit(X, labels).final_estimator_.coef_[0, 0])
    assert last[0] == last[1] != last[2]


def test_scores_and_importances_show_one_label(data, model):
    X, y = data
    assert model.score(X, y) != model.score(X, flipped(y))
    shown = [
        permutation_importance(model, X, labels, n_repeats=2, random_state=0).importances
        for labels in (y, y, flipped(y))
    ]
    assert (shown[0] == shown[1]).all()
    assert (shown[0] != shown[2]).any()


def test_partial_dependence_and_the_axes_of_a_boundary_show_one_row(data, model, request):
    X, y = data
    moved = X.copy()
    moved[np.argmax(X[:, 0]), 0] = 0.9  # the row with the largest value
    means = [partial_dependence(model, rows, [1])["average"] for rows in (X, moved)]
    assert (means[0] != means[1]).any()
    request.addfinalizer(lambda: pyplot.close("all"))  # they draw in figures that stay open
    edges = [DecisionBoundaryDisplay.from_estimator(model, rows, eps=0.0, plot_method="contour") for rows in (X, moved)]
    assert edges[0].xx0.max() == X[:, 0].max() != edges[1].xx0.max()
    shares = [CalibrationDisplay.from_estimator(model, X, labels).prob_true for labels in (y, flipped(y))]
    assert shares[0].tolist() != shares[1].tolist()


def test_labels_that_occur_are_read_by_clients_that_keep_classes(data):
    X, y = data
    rare = np.where(np.arange(len(y)) == 7, 2, y)
    rest = OneVsRestClassifier(dplr.LogisticRegression(eps=math.inf, bounds=BOUNDS)).fit(X, rare)
    assert rest.classes_.tolist() == [0, 1, 2]
    vote = VotingClassifier([("a", dplr.LogisticRegression(eps=math.inf, bounds=BOUNDS))])
    assert vote.fit(X, np.where(y, "b", "a")).classes_.tolist() == ["a", "b"]


def test_splits_that_are_stratified_move_other_rows_with_one_label(data):
    _, y = data
    parts = [set(train_test_split(np.arange(400), stratify=labels, random_state=0)[0]) for labels in (y, flipped(y))]
    plain = [set(train_test_split(np.arange(400), random_state=0)[0]) for _ in range(2)]
    assert plain[0] == plain[1]
    assert len(parts[0] - parts[1]) > 1


def test_boosting_by_weights_is_refused(data, entropy):
    with pytest.raises(ValueError, match="AdaBoostClassifier: it weighs records by the errors of the models before"):
        AdaBoostClassifier(dplr.LogisticRegression(eps=1.0)).fit(*data)
    assert entropy.bytes == 0
