"""What users read who call a thing by another package's name, misspell a class, or forget the model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, cross_val_score

import dplr

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (100, 2))
Y = X[:, 0] > 0
WORDS = np.where(Y, "yes", "no")
FRAME = pd.DataFrame(X, columns=["a", "b"])


@pytest.mark.parametrize(
    ("call", "keyword", "advice"),
    [
        (lambda **k: dplr.fit(X, Y, **k), "epsilon", "is no parameter of fit. Use `eps`."),
        (lambda **k: dplr.fit(X, Y, eps=1.0, **k), "random_state", "Use `rng`."),
        (lambda **k: dplr.fit(X, Y, eps=1.0, **k), "n_row", "Use `n_rows`."),
        (dplr.LogisticRegression, "C", "is no parameter of LogisticRegression. The ridge is `l2`"),
        (dplr.LinearRegression, "epsilon", "is no parameter of LinearRegression. Use `eps`."),
        (dplr.LinearRegression, "alpha", "The ridge is `l2`"),
        (dplr.HuberSVC, "widht", "is no parameter of HuberSVC. Use `width`."),
        (lambda **k: dplr.plan(eps=1.0, **k), "data_norm", "is no parameter of plan. Declare bounds=dplr.Bounds"),
        (lambda **k: dplr.fit_many(X, Y, eps=[1.0], **k), "max_iter", "The solver certifies its minimum"),
        (dplr.LogisticRegression, "nothing_like_it", "It has eps, delta, mechanism, bounds, fit_intercept,"),
    ],
)
def test_a_parameter_of_another_package_is_answered_with_ours(call, keyword, advice):
    with pytest.raises(TypeError, match=f"^`{keyword}` ") as error:
        call(**{keyword: 1})
    assert advice in str(error.value)


def test_a_forgotten_model_is_named_where_the_target_holds_numbers():
    with pytest.raises(ValueError, match=r'100 of 100 rows .*use model="linear"'):
        dplr.fit(X, RNG.normal(size=100), eps=1.0)
    bounds = dplr.Bounds([(-1, 1)] * 2, target={"lower": 0, "upper": 3})
    with pytest.raises(ValueError, match=r'as target of a classifier; got .*use model="linear"'):
        dplr.fit(X, Y, eps=1.0, bounds=bounds)
    with pytest.raises(ValueError, match="`y` must hold") as of_labels:
        dplr.fit(X, np.where(Y, 1, -1), eps=1.0)
    assert "linear" not in str(of_labels.value)


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, pd.Series])
def test_a_forgotten_model_is_named_where_the_range_of_a_number_reads_as_two_labels(kind):
    bounds = dplr.Bounds([(-1, 1)] * 2, target=(0, 100))
    numbers = np.arange(100.0)
    with pytest.raises(ValueError, match=r'The labels are \[0, 100\], as declared\. For .* use model="linear"'):
        dplr.fit(X, kind(numbers), eps=1.0, bounds=bounds)
    for y in (np.where(Y, 0, 50), np.where(Y, "a", "b").astype(object)):  # misspelt labels are no number
        with pytest.raises(ValueError, match="`y` must hold") as error:
            dplr.fit(X, y, eps=1.0, bounds=bounds)
        assert "linear" not in str(error.value)


@pytest.mark.parametrize("column", [WORDS, WORDS.astype(object), pd.Series(WORDS), WORDS.tolist()])
def test_a_misspelt_class_names_what_was_declared_and_what_was_found(column):
    with pytest.raises(ValueError, match="`y` must hold") as error:
        dplr.fit(X, column, eps=1.0, classes=("no", "Yes"))
    found = (
        f"got {Y.sum()} of 100 rows with another value: 'yes' ({Y.sum()}). The labels are ['no', 'Yes'], as declared."
    )
    assert found in str(error.value)


def test_found_values_are_counted_and_few_are_shown():
    values = np.arange(100) % 12
    with pytest.raises(ValueError, match="`y` must hold") as error:
        dplr.fit(X, values, eps=1.0)
    assert (
        "got 82 of 100 rows with another value: 2 (9), 3 (9), 4 (8), 5 (8), 6 (8), …. The labels are [0, 1], by"
        in str(error.value)
    )


def test_of_several_classes_only_what_is_none_of_them_is_shown():
    for y, classes, other in (
        (np.arange(100) % 4, (0, 1, 2), "3 (25)"),
        (np.array(["a", "b", "c", "d"])[np.arange(100) % 4], ("a", "b", "c"), "'d' (25)"),
    ):
        with pytest.raises(ValueError, match="`y` must hold") as error:
            dplr.fit(X, y, eps=1.0, mechanism="fm", classes=classes)
        assert f"got 25 of 100 rows with another value: {other}. The labels are {list(classes)}," in str(error.value)


def test_a_threshold_names_what_is_no_number():
    bounds = dplr.Bounds([(-1, 1)] * 2, target={"threshold": 40})
    with pytest.raises(ValueError, match=r"got 1 of 100 rows with another value: nan \(1\)\. The labels are \[False"):
        dplr.fit(X, np.where(np.arange(100) == 7, np.nan, np.arange(100.0)), eps=1.0, bounds=bounds)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_a_missing_target_names_y(model):
    y = np.where(np.arange(100) == 7, np.nan, Y)
    with pytest.raises(ValueError, match=r"[Ii]n y 1 of 100 values are missing|rows with another value: nan \(1\)"):
        dplr.fit(X, y, eps=1.0, model=model)


def test_missing_features_do_not_blame_the_target():
    with pytest.raises(ValueError, match="must be finite") as error:
        dplr.fit(np.where(np.arange(200).reshape(100, 2) == 7, np.nan, X), X[:, 0], eps=1.0, model="linear")
    assert "In y" not in str(error.value)


@pytest.mark.parametrize("levels", [["F", "M"], ("F", "M", "X"), np.array(["F", "M"])])
def test_a_pair_of_texts_suggests_levels(levels):
    with pytest.raises((TypeError, ValueError), match="column 'sex'") as error:
        dplr.Bounds({"sex": levels})
    assert """For text list its levels: {"levels": ['F', 'M'""" in str(error.value)


def test_each_kind_of_warning_can_be_silenced_by_its_class():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dplr.fit(X * 9, Y, eps=1.0, rng=0)
    assert {each.category for each in told} == {dplr.DataWarning, dplr.PrivacyWarning}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", dplr.DataWarning)
        dplr.fit(X * 9, Y, eps=1.0)


def test_warnings_point_to_the_line_of_the_user():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dplr.fit(X * 9, Y, eps=1.0, rng=0)
        dplr.LogisticRegression(eps=1.0, rng=0).fit(X * 9, Y)
        cross_val_score(dplr.LogisticRegression(eps=1.0), X * 9, Y, cv=KFold(2))
        bounds = dplr.Bounds({"a": (0, 0.1), "b": (0, 0.1)})
        dplr.fit(FRAME, Y, eps=1.0, bounds=bounds, public=(FRAME * 2, Y))
        dplr.plan(n_rows=100, n_features=2, eps=50.0)
    assert len(told) >= 8
    assert {each.filename for each in told} == {__file__}


def test_a_delta_of_one_in_n_is_refused(entropy):
    for call in (
        lambda **k: dplr.fit(X, Y, eps=1.0, **k),
        lambda **k: dplr.plan(n_rows=100, n_features=2, eps=1.0, **k),
    ):
        with pytest.raises(ValueError, match=r"`delta` must be below 1/n = 0.01; got 0.01.*Give a far smaller one"):
            call(delta=0.01)
        call(delta=0.0099)


def test_a_delta_is_compared_with_the_declared_reference_under_add_remove():
    options = {"neighbouring": "add_remove", "eps": 1.0, "mechanism": "fm"}
    dplr.fit(X, Y, delta=0.0009, **options)  # n is private, so nothing may depend on it
    for reference in (None, 1, 500):  # a small reference must not make a delta look small
        with pytest.raises(ValueError, match=r"`delta` must be below 0\.001; got 0.001"):
            dplr.fit(X, Y, n_rows=reference, delta=0.001, **options)
    with pytest.raises(ValueError, match=r"below 1/n = 0\.0002"):
        dplr.fit(X, Y, n_rows=5000, delta=0.0009, **options)


def test_an_eps_above_ten_is_told_of_once_in_a_call():
    for call in (
        lambda: dplr.fit(X, Y, eps=11.0),
        lambda: dplr.plan(n_rows=100, n_features=2, eps=11.0),
        lambda: dplr.fit_many(X, Y, eps=[1.0, 11.0], repeats=2),
    ):
        with pytest.warns(dplr.PrivacyWarning, match="eps = 11 promises little: .* 6.0e[+]04 times") as told:
            call()
        assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplr.PrivacyWarning)
        dplr.fit(X, Y, eps=10.0)
        dplr.fit(X, Y, eps=float("inf"))


def planned(bounds):
    return dplr.plan(n_rows=100, eps=1.0, bounds=bounds).statement


def test_bounds_come_as_an_object_a_mapping_or_a_file(tmp_path):
    known = dplr.Bounds({"a": (-1, 1), "b": (-1, 1)}, target=("no", "yes"))
    path = tmp_path / "bounds.toml"
    assert path.write_text("") == 0
    with pytest.raises(FileExistsError):
        known.to_toml(path)
    path.unlink()
    assert known.to_toml(path) == path.read_text()
    for form in (known, known.to_dict(), path, str(path)):
        est = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=form, rng=3)
        with pytest.warns(dplr.PrivacyWarning, match="rng"):
            coef = est.fit(FRAME, WORDS).named_coef_
        assert list(est.classes_) == ["no", "yes"]
        assert planned(form) == planned(known)
        model = tmp_path / "model.json"
        dplr.save_model(est, model)
        assert dplr.load_model(model).named_coef_ == coef
        assert dplr.load_model(model).bounds == known
        model.unlink()
    columns = {"a": (-1, 1), "b": (-1, 1)}
    assert planned(columns) == planned(dplr.Bounds(columns))
    multiplied = dplr.Bounds(columns, target=("no", "yes"), products=[("a", "b")])
    assert planned(multiplied.to_dict()) == planned(multiplied)


def test_a_bounds_file_is_read_once_in_a_fit(tmp_path, monkeypatch):
    path = tmp_path / "bounds.toml"
    dplr.Bounds({"a": (-1, 1), "b": (-1, 1)}, target=("no", "yes")).to_toml(path)
    read = []
    plain = dplr.Bounds.from_toml.__func__
    monkeypatch.setattr(dplr.Bounds, "from_toml", classmethod(lambda cls, name: read.append(name) or plain(cls, name)))
    dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=path).fit(FRAME, WORDS)
    assert read == [path]


@pytest.mark.parametrize("mechanism", ["fm", "ngd", "score"])
def test_what_lies_outside_the_bounds_is_told_of_once_in_a_fit_of_several_classes(mechanism):
    bounds, delta = dplr.Bounds([(-0.4, 0.5), (-0.5, 0.5)]), 0.0 if mechanism == "fm" else 1e-6
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dplr.fit(X, np.arange(100) % 3, eps=3.0, delta=delta, mechanism=mechanism, bounds=bounds, classes=(0, 1, 2))
    assert sum("outside their bounds" in str(each.message) for each in caught) == 1


def test_what_lies_outside_the_bounds_is_told_of_once_in_a_fit_with_robust_intervals():
    bounds = dplr.Bounds([(-0.5, 0.5)] * 2, target=(-0.4, 0.5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dplr.fit(X, X[:, 0], eps=3.0, bounds=bounds, model="linear", aim="coefficients")
    assert sum("of y lies outside its bounds" in str(each.message) for each in caught) == 1


def test_a_target_by_a_name_that_no_column_has_says_which_columns_there_are():
    with pytest.raises(ValueError, match=r"^`y` must be an array, or the name of a column of X; got 'income'") as error:
        dplr.fit(FRAME, "income", eps=1.0)
    assert str(error.value).endswith("X has the columns ['a', 'b'].")
    with pytest.raises(ValueError, match="X is of type ndarray, without names"):
        dplr.fit(X, "income", eps=1.0)
