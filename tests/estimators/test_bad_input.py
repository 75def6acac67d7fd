"""Bad input gets an error that names the parameter, the rule, what it got and the remedy; no byte of noise is drawn."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dplr

X = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2))
Y = np.arange(40) % 2
Z = X[:, 0]


def replaced(value):
    changed = X.copy()
    changed[7, 1] = value
    return changed


def with_label(value):
    changed = Y.astype(float)
    changed[7] = value
    return changed


FRAME = pd.DataFrame(X, columns=["a", "b"])
LOGISTIC = [
    (
        {"X": replaced(np.nan)},
        ValueError,
        r"`X` and `y` must be finite; got 1 of 40 rows with NaN or infinity\. Remove",
    ),
    ({"X": replaced(np.inf)}, ValueError, "1 of 40 rows with NaN or infinity"),
    ({"X": replaced(-np.inf), "bounds": dplr.Bounds([(-1, 1)] * 2)}, ValueError, "1 of 40 rows with NaN"),
    ({"X": FRAME.mask(FRAME > 0.49)}, ValueError, "rows with NaN or infinity"),
    ({"y": with_label(np.nan)}, ValueError, "NaN or infinity"),
    ({"y": with_label(np.inf)}, ValueError, "NaN or infinity"),
    (
        {"y": with_label(2)},
        ValueError,
        r"only its labels; got 1 of 40 .*`classes=`, or clean y; without a declaration the labels are 0 and 1",
    ),
    ({"y": with_label(-1)}, ValueError, "must hold only its labels; got 1 of 40 rows"),
    ({"y": with_label(2), "classes": "from_data"}, ValueError, "must hold two labels; got 3 classes"),
    (
        {"y": with_label(0.5)},
        ValueError,
        r"`y` must hold only its labels; got 1 of 40 rows with another value",
    ),
    ({"y": with_label(7.5), "classes": "from_data"}, ValueError, 'use model="linear"'),
    ({"y": np.full(40, "yes")}, ValueError, r"`y` must hold booleans, or the numbers 0 and 1.*got 'text'\. Declare"),
    ({"y": pd.Series(pd.date_range("2020", periods=40))}, ValueError, "got 'datetime64.*'. Declare the labels"),
    ({"y": np.full(40, "yes"), "classes": "from_data"}, ValueError, "only one class is present.*Declare `classes=`"),
    ({"y": np.full(40, -1)}, ValueError, "must hold only its labels; got 40 of 40 rows"),
    ({"classes": ("a", 1)}, ValueError, "`classes` must be all text, or all numbers or booleans"),
    ({"classes": "yes"}, ValueError, "`classes` must be two different labels, or more; got 'yes'"),
    ({"classes": (2**53, 2**53 + 1)}, ValueError, "`classes` must differ as float64"),
    ({"y": with_label(5), "classes": (0, 1)}, ValueError, "must hold only its labels; got 1 of 40"),
    ({"y": np.where(Y, "a", "b"), "classes": ("a", "c")}, ValueError, "only its labels; got 20 of 40"),
    ({"classes": (1, 1)}, ValueError, "`classes` must be two different labels, or more"),
    ({"classes": (0, math.nan)}, ValueError, "`classes` must be two different labels, or more"),
    ({"classes": 3}, ValueError, "`classes` must be two different labels, or more; got 3"),
    ({"y": np.array(["a", None] * 20, dtype=object)}, ValueError, "must hold only its labels; got 40 of 40 rows"),
    (
        {"y": np.array(["a", None] * 20, dtype=object), "classes": "from_data"},
        ValueError,
        "`y` must hold labels of one type, none missing",
    ),
    (
        {"y": np.array(["a", 1] * 20, dtype=object), "classes": "from_data"},
        ValueError,
        "`y` must hold labels of one type, none missing",
    ),
    ({"y": pd.Series(["a", None] * 20, dtype="string"), "classes": ("a", "b")}, ValueError, "got 20 of 40 rows"),
    ({"eps": 10**400}, ValueError, "`eps` must fit into a float"),
    ({"classes": (0, 1, 1)}, ValueError, "`classes` must be two different labels, or more"),
    (
        {"classes": (0, 1), "bounds": dplr.Bounds([(-1, 1)] * 2, target=(0, 2))},
        ValueError,
        "must agree with the bounds",
    ),
    ({"X": X[:0], "y": Y[:0]}, ValueError, r"0 sample\(s\)"),
    ({"X": FRAME.iloc[:0], "y": Y[:0]}, ValueError, "must have at least one row and one column"),
    ({"X": X[:, :0]}, ValueError, r"0 feature\(s\)"),
    ({"X": X[:, 0]}, ValueError, "2D array"),
    ({"X": X[:, :, None]}, ValueError, "dim 3"),
    ({"y": Y[:-1]}, ValueError, "`y` must have one entry for each row of X; got 39 entries and 40 rows"),
    ({"y": np.column_stack([Y, Y])}, ValueError, "1d array"),
    ({"y": None}, ValueError, "requires y"),
    ({"X": X.astype(complex)}, ValueError, "Complex data not supported"),
    ({"X": X.astype(str)}, (ValueError, TypeError), "numeric"),
    ({"X": pd.DataFrame({"a": Z, "town": ["x"] * 40})}, ValueError, r"`X` must have numeric columns; got \['town'\]"),
    ({"X": scipy.sparse.csr_array(X)}, TypeError, "[Ss]parse"),
    ({"eps": 0.0}, ValueError, r"`eps` must be positive; got 0\.0"),
    ({"eps": -1.0}, ValueError, r"`eps` must be positive; got -1\.0"),
    ({"eps": math.nan}, ValueError, "`eps` must be positive; got nan"),
    ({"eps": 1e-300}, ValueError, "`eps` must be at least"),
    ({"eps": "1"}, TypeError, "`eps` must be a real number; got '1'"),
    ({"eps": True}, TypeError, "`eps` must be a real number"),
    ({"eps": None}, TypeError, "`eps` must be a real number; got None"),
    ({"delta": 1.0}, ValueError, r"`delta` must be in \[0, 1\); got 1\.0"),
    ({"delta": -0.1}, ValueError, r"`delta` must be in \[0, 1\)"),
    ({"delta": math.nan}, ValueError, r"`delta` must be in \[0, 1\)"),
    (
        {"delta": 1e-6, "mechanism": dplr.FunctionalMechanism(unbounded="rerun")},
        ValueError,
        "`delta` must be 0 with calibration='paper' and unbounded='rerun'; got 1e-06",
    ),
    ({"delta": 0.025}, ValueError, r"`delta` must be below 1/n = 0\.025; got 0\.025.*Give a far smaller one"),
    ({"delta": 1e-310}, ValueError, "`delta` must be 0 or at least 1e-300; got 1e-310"),
    (
        {"delta": 0.02, "eps": 5000.0},
        ValueError,
        "`eps` and delta = 0.02 are out of the range of Gaussian noise",
    ),
    (
        {"public": ([1e308, 1e308], 0.0), "bounds": dplr.Bounds([(-1e3, 1e3)] * 2)},
        ValueError,
        "`public` must be finite in the scaled problem too",
    ),
    ({"public": 3.0}, ValueError, "`public` must hold coefficients and an intercept; got 3.0"),
    ({"public": ([1.0], 0.0)}, ValueError, "`public` must have 2 coefficients and one intercept"),
    ({"public": ([1.0, math.nan], 0.0)}, ValueError, "`public` must be finite"),
    ({"public": ([1.0, 1.0], 2.0), "fit_intercept": False}, ValueError, "`public` must have intercept 0"),
    ({"mechanism": "magic"}, ValueError, "`mechanism` must be one of 'auto', 'fm'.*got 'magic'"),
    ({"mechanism": dplr.FunctionalMechanism}, ValueError, "`mechanism` must be one of"),
    (
        {"model": "probit"},
        ValueError,
        "`model` must be one of 'logistic', 'linear', 'svm', 'huber', 'poisson'; got 'probit'",
    ),
    ({"neighbouring": "both"}, ValueError, "`neighbouring` must be one of"),
    ({"l2": -1.0}, ValueError, "`l2` must be 'auto', or at least 0"),
    ({"l2": math.inf}, ValueError, "`l2` must be 'auto', or at least 0 and finite"),
    ({"l2": "best"}, ValueError, "`l2` must be one of 'auto'"),
    ({"fit_intercept": "yes"}, TypeError, "`fit_intercept` must be True or False"),
    ({"n_rows": 41}, ValueError, r"`n_rows` must be len\(X\) = 40 under replace_one; got 41"),
    ({"n_rows": 0}, ValueError, "`n_rows` must be at least 1"),
    ({"n_rows": 2.5}, TypeError, "`n_rows` must be an integer"),
    (
        {"bounds": [(0, 1), (0, 1)]},
        TypeError,
        r"`bounds` must be None, a dplr\.Bounds, a mapping of columns, or the path",
    ),
    ({"bounds": dplr.Bounds([(-1, 1)])}, ValueError, "one pair for each of the 2 columns of X; got 1"),
    (
        {"X": FRAME, "bounds": dplr.Bounds({"a": (-1, 1), "c": (0, 1)})},
        ValueError,
        r"`X` must have every column that the bounds name; missing: \['c'\]\. Correct the name, or drop it",
    ),
    ({"rng": np.random.default_rng(0)}, TypeError, "`rng` must be None or an int.*Generator objects are refused"),
    ({"rng": True}, TypeError, "`rng` must be None or an int"),
    ({"rng": -1}, ValueError, "`rng` must be at least 0"),
]
LINEAR = [
    (
        {"bounds": dplr.Bounds([(0, 1), (0, 1)])},
        ValueError,
        r"`bounds` must declare the range of a numeric target; got None. .*target=\(lower, upper\).* would be clipped",
    ),
    ({"y": np.where(np.arange(40) == 3, np.nan, Z)}, ValueError, "1 of 40 rows with NaN or infinity"),
    ({"y": np.where(np.arange(40) == 3, np.inf, Z)}, ValueError, "1 of 40 rows with NaN or infinity"),
    ({"y": Z.astype(str)}, (ValueError, TypeError), "`y` must be numeric"),
    ({"y": Z.astype(complex)}, (ValueError, TypeError), "[Cc]omplex|numeric"),
    ({"y": np.array(["a"] * 40, dtype=object)}, ValueError, "`y` must be numeric.*text among the values"),
    ({"y": Z[:3]}, ValueError, "`y` must have one entry for each row of X; got 3 entries and 40 rows"),
    ({"classes": (0, 1)}, ValueError, '`classes` must be None with model="linear"'),
]


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
@pytest.mark.parametrize(("change", "error", "message"), LOGISTIC)
def test_bad_input_is_refused_before_any_noise(change, error, message, entropy):
    arguments = {"X": X, "y": Y, "eps": 1.0, **change}
    with pytest.raises(error, match=message):
        dplr.fit(arguments.pop("X"), arguments.pop("y"), **arguments)
    assert entropy.bytes == 0


@pytest.mark.parametrize(("change", "error", "message"), LINEAR)
def test_bad_input_of_a_linear_model_is_refused_before_any_noise(change, error, message, entropy):
    arguments = {"X": X, "y": Z, "eps": 1.0, "model": "linear", **change}
    with pytest.raises(error, match=message):
        dplr.fit(arguments.pop("X"), arguments.pop("y"), **arguments)
    assert entropy.bytes == 0


@pytest.mark.parametrize("estimator", [dplr.LogisticRegression(), dplr.LinearRegression()])
def test_weights_without_a_public_cap_are_refused_with_the_reason(estimator, entropy):
    with pytest.raises(
        ValueError,
        match=r"`weight_max` is required with sample_weight; got None\. Give bounds=Bounds\(\.\.\., weight_max=W\)",
    ):
        estimator.fit(X, Y, sample_weight=np.ones(40))
    assert entropy.bytes == 0


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"n_features": 2}, "`n_rows` is required under replace_one"),
        ({"n_rows": 5}, "`n_features` is required without bounds"),
        ({"n_rows": 5, "n_features": 0}, "`n_features` must be at least 1"),
        ({"n_rows": 5, "n_features": 5000}, "`X` must have 1 to 4096 columns; got 5000"),
        ({"n_rows": 5, "n_features": 3, "bounds": dplr.Bounds([(0, 1)])}, "one pair for each of the 3 columns"),
    ],
)
def test_plan_refuses_missing_facts(facts, message):
    with pytest.raises(ValueError, match=message):
        dplr.plan(eps=1.0, **facts)


MASKED = np.ma.masked_array(X, mask=np.arange(80).reshape(40, 2) == 7)
FITTED = dplr.fit(X, Y, eps=1.0, bounds=dplr.Bounds([(-1, 1)] * 2))


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("X", lambda: dplr.fit(MASKED, Y, eps=1.0)),
        ("X", lambda: dplr.fit(np.ma.masked_array(X), Y, eps=1.0)),  # whatever is masked: no record decides
        ("y", lambda: dplr.fit(X, np.ma.masked_equal(Y, 1), eps=1.0)),
        ("y", lambda: dplr.fit(X, np.ma.masked_equal(Y[:, None], 1), eps=1.0)),
        ("y", lambda: dplr.fit(X, MASKED[:, 0], eps=1.0, model="linear")),
        ("public", lambda: dplr.fit(X, Y, eps=1.0, public=(MASKED, Y))),
        ("X", lambda: dplr.check(MASKED, Y)),
        ("y", lambda: dplr.check(X, MASKED[:, 0], model="linear")),
        ("X", lambda: dplr.release_moments(MASKED, bounds=dplr.Bounds([(-1, 1)] * 2), eps=1.0)),
        ("X", lambda: dplr.evaluate(FITTED, MASKED, Y, eps=1.0)),
        ("y", lambda: dplr.evaluate(FITTED, X, np.ma.masked_equal(Y, 1), eps=1.0)),
        ("model", lambda: dplr.evaluate(np.ma.masked_equal(Y * 0.5, 0.5), None, Y, eps=1.0)),
        ("X", lambda: FITTED.predict(MASKED)),
        ("X", lambda: dplr.preprocessing.BoundsEncoder(dplr.Bounds([(-1, 1)] * 2)).fit_transform(MASKED)),
        ("X", lambda: dplr.preprocessing.UnitBall().fit_transform(MASKED)),
        ("X", lambda: dplr.preprocessing.RandomFourierFeatures(seed=0).fit_transform(MASKED)),
    ],
)
def test_masked_arrays_are_refused_because_numpy_would_use_what_they_hide(parameter, call, entropy):
    with pytest.raises(TypeError, match=rf"^`{parameter}` must be no masked array; got 'MaskedArray'\. Give "):
        call()
    assert entropy.bytes == 0


@pytest.mark.parametrize("kind", [object, "category"])
@pytest.mark.parametrize("column", [["a", "b"], (0, 1)])
def test_bytes_are_no_text(kind, column, entropy):
    """A column of objects declares no type: as levels they would all be unknown, without an error."""
    frame = pd.DataFrame({"town": pd.Series([b"a", b"b"] * 20, dtype=kind)})
    with pytest.raises(ValueError, match=r"^column 'town' of `X` cannot be read as declared: it holds (a )?bytes"):
        dplr.fit(frame, Y, eps=1.0, bounds=dplr.Bounds({"town": {"levels": column} if "a" in column else column}))
    assert entropy.bytes == 0


# What is bad at first sight, and works by intention:


def test_one_row_fits():
    est = dplr.fit(X[:1], Y[:1], eps=1.0)
    assert np.isfinite(est.coef_).all()


@pytest.mark.parametrize("value", [0, 1, 1.0, True, False])
def test_one_class_of_a_conventional_set_fits(value):
    est = dplr.fit(X, np.full(40, value), eps=1.0)
    assert est.classes_.tolist() == ([False, True] if isinstance(value, bool) else [0, 1])


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64", object])
def test_undeclared_labels_are_0_and_1_of_one_type_whatever_the_records_are(dtype):
    """One -1 once made the labels of all others -1 and 1, and one 1.0 made them floats."""
    y = Y.astype(int).astype(dtype)
    assert [type(label) for label in dplr.fit(X, y, eps=1.0).classes_.tolist()] == [int, int]
    odd = [1.0, *Y.astype(int).tolist()[1:]]
    assert [type(label) for label in dplr.fit(X, odd, eps=1.0).classes_.tolist()] == [int, int]


def test_all_ones_fit_when_both_labels_are_declared():
    assert list(dplr.fit(X, np.ones(40), eps=1.0, classes=(-1, 1)).classes_) == [-1, 1]


def test_declared_labels_fit_one_class_data():
    est = dplr.fit(X, np.full(40, "no"), eps=1.0, classes=("no", "yes"))
    assert list(est.classes_) == ["no", "yes"]


@pytest.mark.parametrize("column", [0.0, 0.3])
def test_constant_and_zero_columns_fit(column):
    constant = np.column_stack([X, np.full(40, column)])
    for eps in (1.0, math.inf):
        assert np.isfinite(dplr.fit(constant, Y, eps=eps).coef_).all()


def test_lists_and_object_arrays_of_numbers_fit():
    assert dplr.fit(X.tolist(), Y.tolist(), eps=1.0).coef_.shape == (1, 2)
    assert dplr.fit(X.astype(object), Y, eps=1.0).coef_.shape == (1, 2)


@pytest.mark.parametrize("eps", [1e-6, 1e6])
def test_extreme_eps_fits(eps):
    assert np.isfinite(dplr.fit(X, Y, eps=eps).coef_).all()


def test_labels_taken_from_the_data_are_warned_about_and_stated(entropy):
    with pytest.warns(dplr.PrivacyWarning, match=r"\['no', 'yes'\] were taken from the private data"):
        est = dplr.fit(X, np.where(Y, "yes", "no"), eps=1.0, classes="from_data")
    assert list(est.classes_) == ["no", "yes"]
    assert any("TAKEN FROM THE DATA" in fact for fact in est.privacy_.assumptions)
    assert set(est.predict(X)) <= {"no", "yes"}


@pytest.mark.parametrize("labels", [(0, 1), (False, True)])
def test_conventional_labels_need_no_warning(labels):
    est = dplr.fit(X, np.where(Y, labels[1], labels[0]), eps=1.0)
    assert list(est.classes_) == list(labels)
    assert any("by convention" in fact for fact in est.privacy_.assumptions)


def test_labels_from_the_bounds_are_declared():
    numbers = dplr.fit(X, Y, eps=math.inf, bounds=dplr.Bounds([(-1, 1)] * 2))
    for target, sign in ((("no", "yes"), 1), (("yes", "no"), -1)):
        bounds = dplr.Bounds([(-1, 1)] * 2, target=target)
        est = dplr.fit(X, np.where(Y, "yes", "no"), eps=math.inf, bounds=bounds)
        assert list(est.classes_) == ["no", "yes"]  # sorted, whatever the order of the declaration
        assert est.outcome_ == target[1]
        np.testing.assert_allclose(est.coef_, sign * numbers.coef_, rtol=1e-6)


def test_object_arrays_of_booleans_are_ones_and_zeros():
    """One number among them would otherwise decide what the labels are."""
    for values in [(True, False), (1, 0), (True, 0)]:
        est = dplr.fit(X, np.array(values * 20, dtype=object), eps=1.0)
        assert [type(label) for label in est.classes_.tolist()] == [int, int]
        assert any("by convention" in fact for fact in est.privacy_.assumptions)


def test_other_keywords_of_fit_are_refused_too():
    with pytest.raises(TypeError, match="`fit` does not take foo; it takes X, y, sample_weight and person"):
        dplr.LogisticRegression().fit(X, Y, foo=3)
