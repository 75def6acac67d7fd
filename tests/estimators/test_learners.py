"""Which estimators inside a client learn from their rows: all but those that are known not to."""

import contextlib
import copy
import functools
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import NMF
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, SplineTransformer, StandardScaler, scale
from sklearn.random_projection import GaussianRandomProjection
from sklearn.utils.discovery import all_estimators

import dplr
from dplr.estimators._learners import learners, names_of, with_functions

pytestmark = [pytest.mark.filterwarnings(f"ignore::{name}") for name in ("dplr.DataWarning", "FutureWarning")]

RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 0.5, (200, 2))
Y = X[:, 0]
CV = KFold(2)
MODEL = dplr.LinearRegression(eps=1.0)
TWO = dplr.LinearRegression(eps=1.0, mechanism="fm")
# They need parameters or rows of another kind: patches of images, hashes of text, codes by a dictionary.
GIVEN = {
    "SparseCoder": {"dictionary": np.eye(2)},
    "FeatureHasher": {"input_type": "string"},
    "GaussianRandomProjection": {"n_components": 1},
    "SparseRandomProjection": {"n_components": 1},
    "RBFSampler": {"gamma": 1.0, "random_state": 0},
    "SplineTransformer": {"degree": 1, "knots": [[0.0, 0.0], [0.2, 0.5], [1.0, 1.0]]},
    "SkewedChi2Sampler": {"random_state": 0},
    "PolynomialCountSketch": {"random_state": 0},
}
ROWS = {
    "PatchExtractor": lambda: RNG.uniform(size=(3, 8, 8)),
    "FeatureHasher": lambda: [["a"], [str(RNG.integers(9))]],
    "HashingVectorizer": lambda: ["a b", str(RNG.integers(9))],
}


def statement_of(model, features=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return model.fit(features, Y)[-1].privacy_


@functools.cache
def silent():
    """The estimators of scikit-learn that count as learning nothing, by themselves."""
    found = {}
    for name, kind in all_estimators():
        try:
            model = kind(**GIVEN.get(name, {}))
        except TypeError:  # made of others
            continue
        if not list(learners(model)):
            found[name] = model
    return found


def test_no_model_of_scikit_learn_counts_as_learning_nothing():
    found = silent()
    predicting = {name for name, model in found.items() if hasattr(model, "predict")}
    predicting |= {name for name, model in found.items() if is_regressor(model) or is_classifier(model)}
    assert predicting == set()
    assert {"Binarizer", "Normalizer", "HashingVectorizer", "PolynomialFeatures"} <= set(found)


@pytest.mark.parametrize("name", sorted(silent()))
def test_what_counts_as_learning_nothing_knows_the_same_after_any_rows(name):
    rows = ROWS.get(name, lambda: RNG.uniform(size=(9, 2)))
    states = []
    for _ in range(2):
        model = copy.deepcopy(silent()[name])
        if name in ("GaussianRandomProjection", "SparseRandomProjection"):
            model.set_params(random_state=0)
        fitted = model.fit(rows())
        states.append({key: joblib.hash(value) for key, value in vars(fitted).items()})
    assert states[0] == states[1]


def test_a_gaussian_process_needs_no_fit_to_predict_and_learns_all_the_same():
    """A stack that held one passed a label of one record on at 20 times its eps."""
    plain = GaussianProcessRegressor(optimizer=None, alpha=0.1)
    with pytest.raises(ValueError, match=r"a stack with a member that is not private \(GaussianProcessRegressor\)"):
        StackingRegressor([("a", plain)], MODEL, cv=CV).fit(X, Y)
    with pytest.raises(ValueError, match=r"a vote with a member that is not private \(GaussianProcessRegressor\)"):
        VotingRegressor([("a", plain), ("b", MODEL)]).fit(X, Y)


def test_a_step_of_another_package_that_says_it_needs_no_fit_is_not_believed():
    class Scaler(MinMaxScaler):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.requires_fit = False
            return tags

    fact = "Scaler learned from the private rows before this fit, without noise"
    assert statement_of(make_pipeline(Scaler(), MODEL)).uncovered == (fact,)


def test_what_a_selector_was_given_fitted_learns_nothing():
    selector = SelectFromModel(Lasso(0.01).fit(X, Y), prefit=True, threshold=-np.inf)
    assert statement_of(make_pipeline(selector, MODEL)).uncovered == ()
    selector.set_params(prefit=False)
    assert len(statement_of(make_pipeline(selector, MODEL)).uncovered) == 1


def test_a_subclass_of_an_encoder_of_ours_may_learn_in_a_fit_of_its_own():
    class Encoder(dplr.preprocessing.BoundsEncoder):
        def fit(self, X, y=None):
            self.mean_ = X.mean(axis=0)
            return super().fit(X)

    bounds = dplr.Bounds([(0, 1)] * 2)
    fact = "Encoder learned from the private rows before this fit, without noise"
    assert statement_of(make_pipeline(Encoder(bounds), MODEL)).uncovered == (fact,)
    assert statement_of(make_pipeline(dplr.preprocessing.BoundsEncoder(bounds), MODEL)).uncovered == ()


def test_a_model_whose_noise_a_seed_gives_is_told_of_in_the_statement_of_the_next(reserved):
    selector = SelectFromModel(dplr.LinearRegression(eps=1.0, mechanism="fm", rng=0), threshold=-np.inf)
    statement_of(make_pipeline(selector, MODEL))
    seeded = "LinearRegression learned from the private rows before this fit, with noise that a seed gives"
    assert [each.uncovered for each in reserved] == [(), (seeded,)]


def test_a_projection_whose_width_is_a_function_of_the_number_of_rows_learns():
    assert list(learners(GaussianRandomProjection()))
    assert not list(learners(GaussianRandomProjection(3)))


def test_splines_learn_nothing_only_between_knots_that_are_given():
    assert list(learners(SplineTransformer()))
    assert list(learners(SplineTransformer(knots="quantile")))
    assert not list(learners(SplineTransformer(knots=np.array([[0.0], [1.0]]))))


def test_a_step_is_not_taken_for_a_client_of_its_name():
    """Elsewhere a pipeline is named Pipeline too. This one only scales."""
    other = type("Pipeline", (Pipeline,), {"__module__": "imblearn.pipeline"})([("s", MinMaxScaler())])
    fact = "Pipeline learned from the private rows before this fit, without noise"
    assert statement_of(make_pipeline(other, MODEL)).uncovered == (fact,)


def test_a_step_of_the_name_of_one_with_functions_is_not_asked_for_them():
    other = type("FunctionTransformer", (MinMaxScaler,), {"__module__": "elsewhere"})()
    assert list(with_functions(other)) == []
    assert list(learners(other)) == [other]


def test_a_search_before_a_fit_is_not_taken_for_the_search_around_it(reserved):
    inner = GridSearchCV(make_pipeline(MinMaxScaler()), {}, cv=CV, scoring=lambda *_: 0.0)
    outer = GridSearchCV(make_pipeline(inner, MODEL), {"linearregression__l2": [0.1, 1.0]}, cv=CV)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outer.fit(X, Y)
    chosen = "GridSearchCV chose parameters by scores on the private rows, without noise"
    assert [each.uncovered for each in reserved] == [(chosen,)] * 5


def test_a_client_that_is_fitting_is_not_named_twice_and_one_beside_it_of_its_type_is():
    class Passing(StandardScaler):
        def __init__(self, estimator=None):
            super().__init__()
            self.estimator = estimator

        def fit(self, X, y=None):
            self.inside_ = None if self.estimator is None else copy.copy(self.estimator).fit(X, y)
            return super().fit(X)

    asked = "Passing asked for this fit, and what else it does with the private rows is not known"
    learned = "Passing learned from the private rows before this fit, without noise"
    beside = learned.replace("before", "beside")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        alone = make_pipeline(Passing(MODEL), StandardScaler()).fit(X, Y)[0].inside_
        two = make_pipeline(Passing(), Passing(MODEL), MODEL).fit(X, Y)[1].inside_
        columns = ColumnTransformer([("a", Passing(MODEL), [0]), ("b", Passing(), [1])]).fit(X, Y)
    assert set(alone.privacy_.uncovered) == {
        asked,
        "StandardScaler learned from the private rows beside this fit, without noise",
    }
    assert set(two.privacy_.uncovered) == {asked, learned}
    assert set(columns.named_transformers_["a"].inside_.privacy_.uncovered) == {asked, beside}


def test_a_covered_client_that_is_fitting_does_not_stand_for_one_of_its_type_that_learns(reserved):
    def mean_of(bag):
        return np.mean([model.coef_ for model in bag.estimators_], axis=0)

    private = BaggingRegressor(TWO, 2, bootstrap=False, max_samples=0.5)
    selector = SelectFromModel(private, threshold=-np.inf, importance_getter=mean_of)
    frozen = StackingRegressor([("a", FrozenEstimator(Ridge().fit(X, Y)))], passthrough=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        make_pipeline(selector, BaggingRegressor(n_estimators=2)).fit(X, Y)
        assert {each.uncovered for each in reserved} == {
            ("BaggingRegressor learned from the private rows beside this fit, without noise",)
        }
        reserved.clear()
        make_pipeline(frozen, StackingRegressor([("a", MODEL)], MODEL, cv=CV)).fit(X, Y)
    assert {each.uncovered for each in reserved} == {
        ("StackingRegressor learned from the private rows before this fit, without noise",)
    }


def test_an_attribute_that_only_selectors_have_says_nothing_of_other_clients():
    pipeline = make_pipeline(StandardScaler(), Lasso())
    pipeline.prefit = True
    assert names_of(learners(pipeline)) == ["StandardScaler", "Lasso"]


class OverAllRows(TransformerMixin, BaseEstimator):
    """A transformer of another package, which scales by the rows that it is given."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return scale(X)


class Derived(FunctionTransformer):
    """scikit-learn's, and what others made of it."""


FUNCTIONS = {
    "FunctionTransformer": make_pipeline(FunctionTransformer(scale), MODEL),
    "ColumnTransformer": make_pipeline(
        ColumnTransformer([("a", "passthrough", lambda rows: np.flatnonzero(rows.max(axis=0) > 0.2))]), MODEL
    ),
    "TransformedTargetRegressor": make_pipeline(
        FunctionTransformer(),
        TransformedTargetRegressor(MODEL, func=lambda y: y - y.mean(), inverse_func=np.positive, check_inverse=False),
    ),
}
ROWWISE = {
    "none": FunctionTransformer(),
    "a ufunc": FunctionTransformer(np.log1p),
    "by types": ColumnTransformer([("a", "passthrough", make_column_selector())]),
    "by places": ColumnTransformer([("a", "passthrough", [0])]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_sees_all_rows_is_told_of(name):
    fact = f"a function of {name} sees all rows at once, and is covered only if it treats each row by itself"
    with pytest.warns(dplr.PrivacyWarning, match=fact):
        fitted = FUNCTIONS[name].fit(X, Y)[-1]
    assert getattr(fitted, "regressor_", fitted).privacy_.uncovered == (fact,)


FROZEN = {
    "FunctionTransformer": FunctionTransformer(scale),
    "FunctionTransformer ": make_pipeline(FunctionTransformer(scale), MinMaxScaler()).fit(X),
    "NMF": NMF(2).fit(X),
    "OverAllRows": OverAllRows().fit(X),
    "OverAllRows ": make_pipeline(OverAllRows(), MinMaxScaler()).fit(X),
    "Derived": Derived(scale),
    "FunctionTransformer  ": FunctionTransformer(np.frompyfunc(lambda value: value, 1, 1)),
}


@pytest.mark.parametrize("name", FROZEN)
def test_what_public_rows_taught_may_mix_private_rows_all_the_same(name):
    """`FrozenEstimator` stops `fit` alone."""
    fact = f"a function of {name.strip()} sees all rows at once, and is covered only if it treats each row by itself"
    assert statement_of(make_pipeline(FrozenEstimator(FROZEN[name]), MODEL)).uncovered == (fact,)


@functools.cache
def transformers():
    """The fitted transformers of scikit-learn that take rows of numbers, and what they make of some rows."""
    fitted, rows = {}, RNG.uniform(0.1, 1.0, (40, 4))
    public = RNG.uniform(0.1, 1.0, (60, 4))
    for name, kind in all_estimators(type_filter="transformer"):
        with warnings.catch_warnings(), contextlib.suppress(TypeError, ValueError, AttributeError):
            warnings.simplefilter("ignore")
            model = kind().fit(public, public[:, 0] > 0.5)
            fitted[name] = model, rows, transformed(model, rows)
    return fitted


def transformed(model, rows):
    made = model.transform(rows)
    return made.toarray() if hasattr(made, "toarray") else np.asarray(made)


def test_a_frozen_transformer_of_scikit_learn_treats_each_row_by_itself_or_is_named():
    """Red where a version brings one that mixes rows."""
    mixing = set()
    for name, (model, rows, made) in transformers().items():
        for odd in (np.full(4, 1e6), np.full(4, 1e-6)):
            other = np.concatenate([rows[:-1], [odd]])
            if not np.array_equal(made[:-1], transformed(model, other)[:-1], equal_nan=True):
                mixing.add(name)
    assert mixing == {"MiniBatchNMF"}
    assert len(transformers()) > 50
    assert {name for name in transformers() if list(with_functions(FrozenEstimator(transformers()[name][0])))} == {
        *mixing,
        "NMF",  # with solver="mu"
    }


@pytest.mark.filterwarnings("ignore:a function of SelectFromModel:dplr.PrivacyWarning")
def test_a_function_that_counts_columns_by_all_rows_is_told_of():
    fact = "a function of SelectFromModel sees all rows at once, and is covered only if it treats each row by itself"
    counting = SelectFromModel(TWO, threshold=-np.inf, max_features=lambda rows: 1 + int(rows.max() > 0.4))
    assert statement_of(make_pipeline(counting, TWO)).uncovered == (fact,)
    assert counting.fit(X, Y).estimator_.privacy_.uncovered == (fact,)
    counting.set_params(max_features=1)
    assert counting.fit(X, Y).estimator_.privacy_.uncovered == ()


def test_a_function_in_a_member_of_a_stack_stands_in_the_statement_of_the_last_model():
    member = make_pipeline(FunctionTransformer(scale), MODEL)
    with pytest.warns(dplr.PrivacyWarning, match="a function of FunctionTransformer"):
        fitted = StackingRegressor([("a", member)], MODEL, cv=CV).fit(X, Y)
    assert len(fitted.final_estimator_.privacy_.uncovered) == 1


@pytest.mark.parametrize("name", ROWWISE)
def test_a_function_of_each_row_is_not_told_of(name):
    rows = pd.DataFrame(X, columns=["a", "b"])
    assert statement_of(make_pipeline(ROWWISE[name], MODEL), rows).uncovered == ()


def test_a_subclass_of_a_selector_of_columns_may_look_at_all_rows():
    class Selector(make_column_selector):
        def __call__(self, rows):
            return list(rows.columns[: 1 + int(rows.iloc[0, 0] > 0.2)])

    assert list(with_functions(ColumnTransformer([("a", "passthrough", Selector())])))


def test_a_function_of_matrices_may_mix_rows():
    assert list(with_functions(FunctionTransformer(np.matmul)))
