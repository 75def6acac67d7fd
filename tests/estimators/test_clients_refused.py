"""Clients of scikit-learn that break the promise are refused before anything is spent, or warned of."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    PredefinedSplit,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.semi_supervised import SelfTrainingClassifier

import dplr

CLASSIFIER = dplr.LogisticRegression(eps=0.5)
REGRESSOR = dplr.LinearRegression(eps=0.5)
LAST = dplr.LogisticRegression(eps=0.5, bounds=dplr.Bounds([(0, 1)]))


class Own:
    """Somebody's estimator that fits ours inside: nothing of ours is cloned."""

    _estimator_type = "classifier"

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        self.inside_ = dplr.LogisticRegression(eps=0.5).fit(X, y)
        self.classes_ = self.inside_.classes_
        return self

    def decision_function(self, X):
        return self.inside_.decision_function(X)


REFUSED = {
    "calibrated": CalibratedClassifierCV(CLASSIFIER),
    "calibrated together": CalibratedClassifierCV(CLASSIFIER, ensemble=False),
    "calibrated in workers": CalibratedClassifierCV(CLASSIFIER, ensemble=False, n_jobs=2),
    "calibrated in a pipeline": CalibratedClassifierCV(make_pipeline(FunctionTransformer(), CLASSIFIER)),
    "calibrated inside another": CalibratedClassifierCV(Own()),
    "tuned threshold": TunedThresholdClassifierCV(CLASSIFIER),
    "stacked": StackingClassifier([("a", CLASSIFIER)], cv=KFold(3)),
    "stacked in workers": StackingClassifier([("a", CLASSIFIER)], cv=KFold(3), n_jobs=2),
    "stacked numbers": StackingRegressor([("a", REGRESSOR)], cv=KFold(3)),
    "stacked late in a long list": StackingClassifier(
        [*((f"{i}", DummyClassifier()) for i in range(9)), ("z", CLASSIFIER)], cv=KFold(3), n_jobs=2
    ),
    "stacked numbers late in a long list": StackingRegressor(
        [*((f"{i}", DummyRegressor()) for i in range(9)), ("z", REGRESSOR)], cv=KFold(3), n_jobs=2
    ),
    "stacked under a model without noise": StackingRegressor(
        [("a", REGRESSOR)], final_estimator=dplr.LinearRegression(eps=math.inf), cv=KFold(3)
    ),
    "stacked labels under a private model": StackingClassifier([("a", CLASSIFIER)], final_estimator=LAST, cv=KFold(3)),
    "votes": VotingClassifier([("a", CLASSIFIER), ("b", CLASSIFIER)]),
    "votes in workers": VotingClassifier([("a", CLASSIFIER), ("b", CLASSIFIER)], n_jobs=2),
    "one against the rest": OneVsRestClassifier(CLASSIFIER),
    "boosted from it": GradientBoostingClassifier(init=CLASSIFIER),
    "gaps filled": IterativeImputer(REGRESSOR),
    "bagged": BaggingClassifier(CLASSIFIER),
    "bagged without replacement": BaggingClassifier(CLASSIFIER, bootstrap=False, max_samples=0.5),
    "bagged by position": BaggingRegressor(
        dplr.LinearRegression(eps=0.5, neighbouring="add_remove"), bootstrap=False, max_samples=0.5
    ),
    "bagged numbers": BaggingRegressor(REGRESSOR),
    "boosted": AdaBoostRegressor(REGRESSOR),
    "one against one": OneVsOneClassifier(CLASSIFIER),
    "taught by itself": SelfTrainingClassifier(CLASSIFIER),
    "ransac": RANSACRegressor(REGRESSOR, min_samples=50),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (300, 2))
    return X, (X[:, 0] > 0).astype(int)


def calibrators(model, X, y):
    """The numbers that a calibrator took from the labels, for fitted margins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        fitted = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    (calibrator,) = fitted.calibrated_classifiers_[0].calibrators
    return calibrator.a_, calibrator.b_


def test_one_label_can_be_read_off_a_calibrator_whatever_eps_is(data):
    """Why calibration on private rows is refused: given the release, the calibrator is a function of the labels."""
    X, y = data
    model = dplr.LogisticRegression(eps=0.001).fit(X, y)
    flipped = y.copy()
    flipped[0] = 1 - flipped[0]
    assert calibrators(model, X, y) == calibrators(model, X, y)
    assert not np.allclose(calibrators(model, X, y), calibrators(model, X, flipped), rtol=1e-6)


def test_a_calibrator_of_private_labels_is_refused_so_that_no_label_leaks(data):
    X, y = data
    for _ in range(10):
        with pytest.raises(ValueError, match="it fits its calibrator to the labels without noise"):
            CalibratedClassifierCV(dplr.LogisticRegression(eps=0.001)).fit(X, y)


@pytest.mark.parametrize("client", REFUSED)
def test_a_client_that_breaks_the_promise_is_refused_before_anything_is_spent(data, client, entropy, reserved):
    X, y = data
    y = np.digitize(X[:, 0], [-0.2, 0.2]) if client == "one against one" else y
    y = np.where(np.arange(300) < 50, -1, y) if client == "taught by itself" else y
    with pytest.raises(ValueError, match=r"`estimator` must not be fitted to private rows in .*: it .*; got .*\. \w"):
        REFUSED[client].fit(X, y)
    assert entropy.bytes == 0
    assert reserved == []


@pytest.mark.parametrize("ensemble", [True, False])
def test_workers_spend_nothing_before_the_refusal(data, tmp_path, ensemble):
    """Their folds are fitted where no frame of the client is: the copy for them was refused before."""
    ledger = dplr.Ledger(tmp_path / "budget.ledger", eps=10.0)
    inside = dplr.LogisticRegression(eps=0.5, ledger=ledger)
    with pytest.raises(ValueError, match="must not be fitted to private rows in CalibratedClassifierCV"):
        CalibratedClassifierCV(inside, ensemble=ensemble, n_jobs=2).fit(*data)
    assert ledger.entries() == []


def test_a_client_is_refused_inside_another(data, reserved):
    with pytest.raises(ValueError, match="must not be fitted to private rows in CalibratedClassifierCV"):
        cross_val_score(CalibratedClassifierCV(CLASSIFIER), *data, cv=KFold(3), error_score="raise")
    assert reserved == []


def test_a_bag_would_count_one_record_several_times(data):
    X, y = data
    seen = []

    class Counting(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            seen.append(np.unique(X[:, 0], return_counts=True)[1].max())
            return self

        def predict(self, X):
            return np.zeros(len(X))

    BaggingClassifier(Counting(), 5, random_state=0).fit(X, y)
    assert min(seen) > 1
    seen.clear()
    BaggingClassifier(Counting(), 5, bootstrap=False, max_samples=0.5).fit(X, y)
    assert seen == [1] * 5


def test_clients_without_a_fit_of_their_own_work(data, reserved):
    X, y = data
    assert FixedThresholdClassifier(CLASSIFIER, threshold=0.4).fit(X, y).predict(X).shape == y.shape
    assert len(reserved) == 1
    BaggingRegressor(REGRESSOR, 3, bootstrap=False, max_samples=0.5).fit(X, y)
    assert len(reserved) == 4
    StackingRegressor([("a", REGRESSOR)], final_estimator=REGRESSOR, cv=KFold(3)).fit(X, y)
    assert len(reserved) == 4 + 1 + 3 + 1


def test_a_stack_may_end_in_a_pipeline_that_ends_in_a_private_model(data):
    last = make_pipeline(FunctionTransformer(), REGRESSOR)
    stack = StackingRegressor([("a", REGRESSOR)], final_estimator=last, cv=KFold(3)).fit(*data)
    assert stack.final_estimator_[-1].privacy_.eps == 0.5


def test_clients_that_encode_labels_let_one_record_rename_all_others(data):
    """Why they are refused: codes of labels depend on which labels occur. Declared classes do not help."""
    X, _ = data
    seen = []

    class Looking(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            seen.append(np.asarray(y)[1:].tolist())
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.zeros(len(X), int)

    for first in ("no", "yes"):
        y = np.array([first] + ["yes"] * 299)
        VotingClassifier([("a", Looking())]).fit(X, y)
        BaggingClassifier(Looking(), 1, bootstrap=False).fit(X, y)
    assert seen[0] != seen[2]
    assert seen[1] != seen[3]


def test_a_vote_is_refused_by_its_own_name_and_before_its_members_are_copied(data):
    with pytest.raises(ValueError, match="in a vote of classifiers: it renames the labels by those that occur"):
        VotingClassifier([("a", CLASSIFIER)]).fit(*data)


def test_fits_of_many_models_are_refused_inside_a_client_too(data):
    class Many(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            (self.inside_,) = dplr.fit_many(X, y, eps=[0.5])
            return self

        def decision_function(self, X):
            return self.inside_.decision_function(X)

    with pytest.raises(ValueError, match="fits its calibrator to the labels without noise"):
        CalibratedClassifierCV(Many()).fit(*data)


def test_splitters_and_clients_without_a_hash_are_told_of_too(data):
    class Unhashed(StratifiedKFold):
        def __eq__(self, other):
            return self is other

    with pytest.warns(dplr.PrivacyWarning, match="one label moves other rows"):
        cross_val_score(CLASSIFIER, *data, cv=Unhashed(3))


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), ShuffleSplit(3), KFold(3)], ids=str)
def test_folds_by_position_are_warned_of_under_add_remove(data, cv):
    with pytest.warns(dplr.PrivacyWarning, match="Folds are cut by position"):
        cross_val_score(dplr.LogisticRegression(eps=0.5, neighbouring="add_remove"), *data, cv=cv)


def test_a_calibrated_model_can_be_built_copied_and_asked_for_its_tags(data):
    client = CalibratedClassifierCV(CLASSIFIER)
    assert client.__sklearn_clone__().estimator.eps == 0.5
    assert not client.__sklearn_tags__().input_tags.sparse


def test_without_noise_there_is_nothing_to_break(data):
    X, y = data
    exact = dplr.LogisticRegression(eps=math.inf)
    assert CalibratedClassifierCV(exact).fit(X, y).score(X, y) > 0.9
    assert cross_val_score(exact, X, y, cv=3).min() > 0.9


def ask(client, X, y):
    """The warnings of one fit."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        client.fit(X, y)
    return [found for found in said if found.category is dplr.PrivacyWarning]


def test_a_client_that_learns_from_rows_of_a_fitted_model_says_once_that_they_must_be_public(data):
    X, y = data
    model = dplr.LogisticRegression(eps=0.5).fit(X, y)
    for client in (
        CalibratedClassifierCV(FrozenEstimator(model)),
        CalibratedClassifierCV(FrozenEstimator(model), ensemble=True),
        TunedThresholdClassifierCV(model, cv="prefit", refit=False),
        StackingClassifier([("a", model)], cv="prefit"),
    ):
        (found,) = ask(client, X, y)
        assert "give it public rows only" in str(found.message)
        assert found.filename == __file__
    assert ask(FixedThresholdClassifier(FrozenEstimator(model)), X, y) == []


def replaced(splitter, y, z):
    """How many records of each training set are others, of two data sets in which one record differs."""
    changed = int(np.flatnonzero(y != z)[0])
    pairs = zip(splitter.split(y, y), splitter.split(z, z), strict=True)
    return [len(set(a) - set(b)) + (changed in a and changed in b) for (a, _), (b, _) in pairs]


def test_one_label_moves_other_rows_between_folds_that_are_cut_by_labels():
    """Each of these rows costs a fit its eps: five fits may cost 12 eps, and not the 5 that they say."""
    y = np.random.default_rng(0).integers(0, 2, 60)
    worst = {KFold: 0, StratifiedKFold: 0}
    for flipped in range(60):
        z = y.copy()
        z[flipped] = 1 - z[flipped]
        for kind in worst:
            worst[kind] = max(worst[kind], sum(replaced(kind(5), y, z)))
    assert worst[KFold] == 4
    assert worst[StratifiedKFold] >= 10


FOLDED = {
    "cross_val_score": lambda model, X, y, cv: cross_val_score(model, X, y, cv=cv),
    "in workers": lambda model, X, y, cv: cross_val_score(model, X, y, cv=cv, n_jobs=2),
    "cross_val_predict": lambda model, X, y, cv: cross_val_predict(model, X, y, cv=cv),
    "grid": lambda model, X, y, cv: GridSearchCV(model, {"eps": [0.1, 0.2]}, cv=cv).fit(X, y),
    "random": lambda model, X, y, cv: RandomizedSearchCV(model, {"eps": [0.1, 0.2]}, n_iter=2, cv=cv).fit(X, y),
    "learning": lambda model, X, y, cv: learning_curve(model, X, y, cv=cv, train_sizes=[0.9, 1.0]),
    "validation": lambda model, X, y, cv: validation_curve(model, X, y, cv=cv, param_name="eps", param_range=[1.0]),
    "rfecv": lambda model, X, y, cv: RFECV(model, cv=cv).fit(X, y),
    "sequential": lambda model, X, y, cv: SequentialFeatureSelector(model, cv=cv, n_features_to_select=1).fit(X, y),
}


@pytest.mark.filterwarnings("ignore:.* chose (parameters|columns) by scores:dplr.PrivacyWarning")
@pytest.mark.parametrize("client", FOLDED)
def test_folds_that_are_cut_by_labels_are_warned_of_and_others_not(data, client):
    X, y = data
    with pytest.warns(
        dplr.PrivacyWarning, match=r"one label moves other rows .* Pass cv=KFold\(5, shuffle=True\)"
    ) as said:
        FOLDED[client](CLASSIFIER, X, y, 3)
    assert {found.filename for found in said if found.category is dplr.PrivacyWarning} == {__file__}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        FOLDED[client](CLASSIFIER, X, y, KFold(3))
    assert [each for each in said if "moves other rows" in str(each.message)] == []


def test_folds_by_position_are_warned_of_where_a_record_may_be_missing(data):
    X, y = data
    model = dplr.LogisticRegression(eps=0.5, neighbouring="add_remove")
    with pytest.warns(dplr.PrivacyWarning, match="one record more or less moves other rows"):
        cross_val_score(model, X, y, cv=KFold(3))
    cross_val_score(model, X, y, cv=PredefinedSplit(np.arange(300) % 3))
