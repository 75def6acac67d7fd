"""Every client of scikit-learn has a verdict, and a row of docs/trust/attack-model.md that says it.

- covered: the statement of each fit covers what the client does with private rows;
- NOT COVERED: the last statement says what it does not cover, and the user is warned;
- refused: nothing is spent;
- warned: a model that is already fitted, or folds: the user is told which rows break the promise;
- no fit: nothing of ours is fitted.
"""

import inspect
import pathlib
import re
import warnings

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn import base, ensemble, feature_selection, inspection, metrics, model_selection
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer
from sklearn.linear_model import RANSACRegressor, Ridge
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.discovery import all_displays, all_estimators, all_functions

import dplr

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

ROOT = pathlib.Path(__file__).parents[2]
SECTION = "\n## scikit-learn around a private model\n"
COVERED, UNCOVERED, REFUSED, WARNED, NO_FIT = "covered", "NOT COVERED", "refused", "warned", "no fit"

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (180, 2))
Y = (X[:, 0] > 0).astype(int)
T = X[:, 1]
TWO_LABELS, TWO_NUMBERS = np.column_stack([Y, 1 - Y]), X / 2
LABELS = dplr.LogisticRegression(eps=1.0)
NUMBERS = dplr.LinearRegression(eps=1.0)
CV = KFold(2)
FITTED, FITTED_NUMBERS = base.clone(LABELS).fit(X, Y), base.clone(NUMBERS).fit(X, T)
POINTS = {"min_resources": 40, "cv": CV}
GRID = {"l2": [0.1, 1.0]}
SELECTOR = feature_selection.SelectFromModel(LABELS)


def of_labels(client):
    return lambda: client.fit(X, Y)


def of_numbers(client):
    return lambda: client.fit(X, T)


def of_function(function, *options, **more):
    return {
        COVERED: lambda: function(LABELS, X, Y, *options, cv=CV, **more),
        WARNED: lambda: function(LABELS, X, Y, *options, cv=2, **more),
    }


def shown(display, *options):
    return {NO_FIT: lambda: display.from_estimator(FITTED, X, *options)}


def of_halves(kind, last):
    return {
        COVERED: lambda: kind([("a", SELECTOR, *last)]).fit(X, Y),
        UNCOVERED: lambda: kind([("a", SELECTOR, *last), ("b", StandardScaler(), *last)]).fit(X, Y),
    }


CLIENTS = {
    "AdaBoostClassifier": {REFUSED: of_labels(ensemble.AdaBoostClassifier(LABELS))},
    "AdaBoostRegressor": {REFUSED: of_numbers(ensemble.AdaBoostRegressor(NUMBERS))},
    "BaggingClassifier": {REFUSED: of_labels(ensemble.BaggingClassifier(LABELS, 2, bootstrap=False))},
    "BaggingRegressor": {
        REFUSED: of_numbers(ensemble.BaggingRegressor(NUMBERS, 2)),
        COVERED: of_numbers(ensemble.BaggingRegressor(NUMBERS, 2, bootstrap=False, max_samples=0.5)),
    },
    "CalibratedClassifierCV": {
        REFUSED: of_labels(CalibratedClassifierCV(LABELS)),
        WARNED: of_labels(CalibratedClassifierCV(FrozenEstimator(FITTED))),
    },
    "ClassifierChain": {
        REFUSED: lambda: ClassifierChain(LABELS, cv=2).fit(X, TWO_LABELS),
        COVERED: lambda: ClassifierChain(LABELS, cv=CV).fit(X, TWO_LABELS),
    },
    "RegressorChain": {
        REFUSED: lambda: RegressorChain(NUMBERS, cv=model_selection.StratifiedKFold(2)).fit(X, TWO_LABELS),
        COVERED: lambda: RegressorChain(NUMBERS, cv=CV).fit(X, TWO_NUMBERS),
    },
    "ColumnTransformer": of_halves(ColumnTransformer, [[0, 1]]),
    "FeatureUnion": of_halves(FeatureUnion, []),
    "FixedThresholdClassifier": {COVERED: of_labels(model_selection.FixedThresholdClassifier(LABELS, threshold=0.4))},
    "FrozenEstimator": {NO_FIT: of_labels(FrozenEstimator(FITTED))},
    "GradientBoostingClassifier": {REFUSED: of_labels(ensemble.GradientBoostingClassifier(init=LABELS))},
    "GradientBoostingRegressor": {REFUSED: of_numbers(ensemble.GradientBoostingRegressor(init=NUMBERS))},
    "GridSearchCV": {UNCOVERED: of_labels(model_selection.GridSearchCV(LABELS, GRID, cv=CV))},
    "RandomizedSearchCV": {UNCOVERED: of_labels(model_selection.RandomizedSearchCV(LABELS, GRID, n_iter=2, cv=CV))},
    "HalvingGridSearchCV": {UNCOVERED: of_labels(model_selection.HalvingGridSearchCV(LABELS, GRID, **POINTS))},
    "HalvingRandomSearchCV": {UNCOVERED: of_labels(model_selection.HalvingRandomSearchCV(LABELS, GRID, **POINTS))},
    "IterativeImputer": {REFUSED: of_numbers(IterativeImputer(NUMBERS))},
    "MultiOutputClassifier": {COVERED: lambda: MultiOutputClassifier(LABELS).fit(X, TWO_LABELS)},
    "MultiOutputRegressor": {COVERED: lambda: MultiOutputRegressor(NUMBERS).fit(X, TWO_NUMBERS)},
    "OneVsOneClassifier": {REFUSED: lambda: OneVsOneClassifier(LABELS).fit(X, np.arange(180) % 3)},
    "OneVsRestClassifier": {REFUSED: of_labels(OneVsRestClassifier(LABELS))},
    "OutputCodeClassifier": {REFUSED: of_labels(OutputCodeClassifier(LABELS, code_size=5, random_state=0))},
    "Pipeline": {
        COVERED: of_labels(Pipeline([("a", FunctionTransformer()), ("b", SELECTOR), ("c", LABELS)])),
        UNCOVERED: of_labels(Pipeline([("a", StandardScaler()), ("b", LABELS)])),
    },
    "RANSACRegressor": {REFUSED: of_numbers(RANSACRegressor(NUMBERS, min_samples=50))},
    "RFE": {COVERED: of_labels(feature_selection.RFE(LABELS))},
    "RFECV": {UNCOVERED: of_labels(feature_selection.RFECV(LABELS, cv=CV))},
    "SelectFromModel": {
        COVERED: of_labels(SELECTOR),
        UNCOVERED: of_labels(feature_selection.SelectFromModel(LABELS, max_features=lambda _: 1)),
    },
    "SelfTrainingClassifier": {REFUSED: lambda: SelfTrainingClassifier(LABELS).fit(X, np.where(X[:, 1] > 0, Y, -1))},
    "SequentialFeatureSelector": {
        UNCOVERED: of_labels(
            make_pipeline(feature_selection.SequentialFeatureSelector(LABELS, n_features_to_select=1, cv=CV), LABELS)
        )
    },
    "StackingClassifier": {
        REFUSED: of_labels(ensemble.StackingClassifier([("a", LABELS)], final_estimator=LABELS, cv=CV)),
        WARNED: of_labels(ensemble.StackingClassifier([("a", FITTED)], cv="prefit")),
    },
    "StackingRegressor": {
        REFUSED: of_numbers(ensemble.StackingRegressor([("a", Ridge())], final_estimator=NUMBERS, cv=CV)),
        COVERED: of_numbers(ensemble.StackingRegressor([("a", NUMBERS)], final_estimator=NUMBERS, cv=CV)),
    },
    "TransformedTargetRegressor": {
        COVERED: of_numbers(TransformedTargetRegressor(NUMBERS, func=np.tanh, inverse_func=np.arctanh)),
        UNCOVERED: of_numbers(TransformedTargetRegressor(NUMBERS, transformer=StandardScaler())),
    },
    "TunedThresholdClassifierCV": {
        REFUSED: of_labels(model_selection.TunedThresholdClassifierCV(LABELS)),
        WARNED: of_labels(model_selection.TunedThresholdClassifierCV(FITTED, cv="prefit", refit=False)),
    },
    "VotingClassifier": {REFUSED: of_labels(ensemble.VotingClassifier([("a", LABELS), ("b", LABELS)]))},
    "VotingRegressor": {
        REFUSED: of_numbers(ensemble.VotingRegressor([("a", NUMBERS), ("b", Ridge())])),
        COVERED: of_numbers(ensemble.VotingRegressor([("a", NUMBERS), ("b", NUMBERS)])),
    },
    # Functions
    "cross_val_score": of_function(model_selection.cross_val_score),
    "cross_validate": of_function(model_selection.cross_validate),
    "cross_val_predict": of_function(model_selection.cross_val_predict),
    "permutation_test_score": {
        REFUSED: lambda: model_selection.permutation_test_score(LABELS, X, Y, cv=CV, n_permutations=1)
    },
    "learning_curve": of_function(model_selection.learning_curve, train_sizes=[0.9, 1.0]),
    "validation_curve": of_function(model_selection.validation_curve, param_name="l2", param_range=[0.1, 1.0]),
    "clone": {NO_FIT: lambda: base.clone(LABELS)},
    "make_pipeline": {
        COVERED: lambda: make_pipeline(FunctionTransformer(), LABELS).fit(X, Y),
        UNCOVERED: lambda: make_pipeline(StandardScaler(), LABELS).fit(X, Y),
    },
    "make_union": {
        COVERED: lambda: make_union(SELECTOR).fit_transform(X, Y),
        UNCOVERED: lambda: make_union(SELECTOR, StandardScaler()).fit_transform(X, Y),
    },
    "make_column_transformer": {
        COVERED: lambda: make_column_transformer((SELECTOR, [0, 1])).fit_transform(X, Y),
        UNCOVERED: lambda: make_column_transformer((SELECTOR, [0]), remainder=StandardScaler()).fit(X, Y),
    },
    "permutation_importance": {NO_FIT: lambda: inspection.permutation_importance(FITTED, X, Y, n_repeats=1)},
    "partial_dependence": {NO_FIT: lambda: inspection.partial_dependence(FITTED, X, [1])},
    # Displays
    "LearningCurveDisplay": of_function(model_selection.LearningCurveDisplay.from_estimator, train_sizes=[0.9, 1.0]),
    "ValidationCurveDisplay": of_function(
        model_selection.ValidationCurveDisplay.from_estimator, param_name="l2", param_range=[0.1, 1.0]
    ),
    "CalibrationDisplay": shown(CalibrationDisplay, Y),
    "ConfusionMatrixDisplay": shown(metrics.ConfusionMatrixDisplay, Y),
    "DecisionBoundaryDisplay": shown(inspection.DecisionBoundaryDisplay),
    "DetCurveDisplay": shown(metrics.DetCurveDisplay, Y),
    "PartialDependenceDisplay": shown(inspection.PartialDependenceDisplay, [1]),
    "PrecisionRecallDisplay": shown(metrics.PrecisionRecallDisplay, Y),
    "PredictionErrorDisplay": {NO_FIT: lambda: metrics.PredictionErrorDisplay.from_estimator(FITTED_NUMBERS, X, T)},
    "RocCurveDisplay": shown(metrics.RocCurveDisplay, Y),
}
# Functions that take an estimator and fit nothing; and clients of estimators that are not models, but of covariances.
PLUMBING = {
    *("check_X_y", "check_array", "check_cv", "check_is_fitted", "check_same_namespace", "check_scoring", "get_tags"),
    *("estimator_html_repr", "has_fit_parameter", "is_classifier", "is_clusterer", "is_outlier_detector"),
    *("is_regressor", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
}
PARAMETERS = {
    *("estimator", "estimators", "base_estimator", "final_estimator", "regressor", "classifier", "model", "clf"),
    *("steps", "transformers", "transformer_list"),
}
CASES = [(name, verdict) for name, verdicts in CLIENTS.items() for verdict in verdicts]


def meta_estimators():
    """The public names of scikit-learn that take an estimator: by the names of parameters, and by what they must be."""
    found = set()
    for name, kind in all_estimators():
        constraints = getattr(kind, "_parameter_constraints", {}).values()
        methods = [
            each.methods
            for allowed in constraints
            if isinstance(allowed, list)
            for each in allowed
            if isinstance(each, HasMethods)
        ]
        if PARAMETERS & parameters(kind) or any("fit" in each for each in methods):
            found.add(name)
    found |= {name for name, function in all_functions() if PARAMETERS & parameters(function)}
    found |= {name for name, kind in all_displays() if hasattr(kind, "from_estimator")}
    for module in (model_selection, inspection, feature_selection):
        things = [(name, vars(module).get(name)) for name in module.__all__]
        found |= {name for name, thing in things if inspect.isfunction(thing) and PARAMETERS & parameters(thing)}
    return found - PLUMBING


def parameters(thing):
    return set(inspect.signature(thing).parameters)


def rows():
    """The verdicts of docs/trust/attack-model.md, by the names of clients."""
    text = (ROOT / "docs" / "trust" / "attack-model.md").read_text().partition(SECTION)[2].partition("\n## ")[0]
    found = {}
    for line in text.splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            for name in re.findall(r"`(\w+)`", cells[0]):
                assert name not in found, name
                found[name] = {word.strip() for word in cells[1].split(",")}
    return found


def verdict_of(run, statements):
    refusal = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            run()
        except ValueError as error:
            refusal = str(error)
    if refusal is not None:
        assert "must not be fitted to private rows in" in refusal
        assert statements == []
        return REFUSED
    said = [str(each.message) for each in caught if issubclass(each.category, dplr.PrivacyWarning)]
    if statements and statements[-1].uncovered:
        for fact in statements[-1].uncovered:
            assert any(each.startswith(f"{fact}: the privacy statement does not cover it. ") for each in said)
        return UNCOVERED
    if said:
        return WARNED
    return COVERED if statements else NO_FIT


def test_every_client_of_scikit_learn_has_a_verdict():
    """Red where a version brings a client that nobody has read."""
    assert meta_estimators() - set(CLIENTS) == set()
    assert len(meta_estimators()) >= 50


@pytest.mark.parametrize(("name", "verdict"), CASES, ids=[f"{name} {verdict}" for name, verdict in CASES])
def test_a_client_gets_its_verdict(name, verdict, reserved, request):
    request.addfinalizer(lambda: pyplot.close("all"))
    assert verdict_of(CLIENTS[name][verdict], reserved) == verdict


def test_the_attack_model_lists_the_verdicts():
    listed = rows()
    assert {name: listed.get(name) for name in CLIENTS} == {name: set(verdicts) for name, verdicts in CLIENTS.items()}
