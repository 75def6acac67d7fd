"""Every model under every mechanism passes scikit-learn's own checks, but for those that privacy forbids."""

import math

import pytest
from sklearn.utils.estimator_checks import check_estimator

import dplr
from own_losses import own_log_cosh

TWO_FITS_DIFFER = "compares two fits of the same data, and two private fits never share noise"
COMPARE_TWO_FITS = (
    "check_classifier_data_not_an_array",
    "check_regressor_data_not_an_array",
    "check_supervised_y_2d",
    "check_fit_idempotent",
    "check_regressors_int",
)
LABELS_ARE_PUBLIC = "takes the labels from the data; more than two must be declared, and the check's data hold others"
ONE_LABEL_OF_TEN_ROWS = "asks a fit of ten rows for the one label that they have: noise decides"
LABELS_ARE_DECLARED = (
    "takes labels that are no 0 or 1 from the data: they must be declared, or asked for with classes='from_data'"
)
NO_CAP = "gives weights to a model that declares no weight_max: the cap must be public, and no default can know it"
WITH_WEIGHTS = (
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
    "check_all_zero_sample_weights_error",
    "check_classifiers_one_label_sample_weights",
)
UNDECLARED = (
    "check_classifier_data_not_an_array",
    "check_classifier_not_supporting_multiclass",
    "check_classifiers_classes",
    "check_classifiers_regression_target",
    "check_estimators_dtypes",
    "check_fit2d_1feature",
)
TAKE_LABELS = (
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_regression_target",
    "check_classifiers_train",
    "check_dtype_object",
)

NGD = dplr.NoisyGradientDescent(steps=3)
INF = math.inf
READ = {"classes": "from_data"}
OFFERED = [
    dplr.LogisticRegression(**READ),
    dplr.LogisticRegression(mechanism="output", delta=1e-6, **READ),
    dplr.LogisticRegression(mechanism="objective", **READ),
    dplr.LogisticRegression(mechanism=NGD, delta=1e-6, **READ),
    dplr.LogisticRegression(mechanism="none", eps=INF, **READ),
    dplr.LogisticRegression(mechanism="score", delta=1e-6, **READ),
    dplr.LogisticRegression(mechanism="score", eps=INF, **READ),
    dplr.HuberSVC(mechanism="output", **READ),
    dplr.HuberSVC(mechanism="objective", delta=1e-6, **READ),
    dplr.HuberSVC(mechanism=NGD, eps=INF, **READ),
    dplr.HuberSVC(mechanism="none", eps=INF, **READ),
    dplr.LinearRegression(delta=1e-6),
    dplr.LinearRegression(mechanism=NGD, delta=1e-6),
    dplr.LinearRegression(eps=INF),
    dplr.LogisticRegression(eps=INF, neighbouring="add_remove", fit_intercept=False, **READ),
    dplr.LogisticRegression(),
    dplr.HuberSVC(mechanism="none", eps=INF),
    dplr.LogisticRegression(classes=(0, 1, 2)),
    dplr.HuberSVC(classes=(0, 1, 2), eps=INF),
    dplr.HuberRegressor(mechanism="output"),
    dplr.MarginClassifier(loss=dplr.losses.smoothed_hinge(), mechanism="objective", **READ),
    dplr.ResidualRegressor(loss=own_log_cosh(), eps=INF, mechanism="none"),
]


def expected_failures(estimator):
    """Without noise, without weights and with labels from the data every check passes."""
    noisy = not math.isinf(estimator.eps)
    expected = dict.fromkeys(WITH_WEIGHTS, NO_CAP)
    expected |= dict.fromkeys(COMPARE_TWO_FITS, TWO_FITS_DIFFER) if noisy else {}
    classes = getattr(estimator, "classes", "from_data")
    if classes is None and noisy:
        expected["check_classifiers_one_label"] = ONE_LABEL_OF_TEN_ROWS
    if classes is None:
        return expected | dict.fromkeys(UNDECLARED, LABELS_ARE_DECLARED)
    if classes == "from_data":
        return expected
    expected |= dict.fromkeys(TAKE_LABELS, LABELS_ARE_PUBLIC)
    if hasattr(estimator, "predict_proba"):
        expected["check_decision_proba_consistency"] = LABELS_ARE_PUBLIC
    if noisy:
        expected["check_classifiers_one_label"] = ONE_LABEL_OF_TEN_ROWS
    return expected


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning", "ignore::UserWarning")
@pytest.mark.parametrize("estimator", OFFERED, ids=str)
def test_scikit_learn_conventions(estimator):
    check_estimator(estimator, expected_failed_checks=expected_failures(estimator), on_skip=None)


def test_only_declared_labels_make_a_model_of_more_than_two_classes():
    bounds = dplr.Bounds([(0, 1)], target=("a", "b", "c"))
    for several in (dplr.HuberSVC(classes=(0, 1, 2)), dplr.LogisticRegression(bounds=bounds)):
        assert several.__sklearn_tags__().classifier_tags.multi_class
    for two in (dplr.HuberSVC(), dplr.LogisticRegression(classes=(0, 1))):
        assert not two.__sklearn_tags__().classifier_tags.multi_class
