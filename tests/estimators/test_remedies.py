"""Remedies are right, and what a fit cannot know is said to whom it concerns."""

import sys
import warnings

import numpy as np
import pytest

import dplr

pd = pytest.importorskip("pandas")


def _rows(n=2_000):
    X = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return X, 0.5 * X[:, 0]


def test_swapped_bounds_are_to_be_exchanged_and_only_a_constant_column_dropped():
    with pytest.raises(ValueError, match=r"lower < upper for column 'a'; got \(99.0, 18.0\).*first: \(18, 99\)\.$"):
        dplr.Bounds({"a": (99, 18)})
    with pytest.raises(ValueError, match=r"lower < upper for the target.*lower bound comes first"):
        dplr.Bounds({"a": (0, 1)}, target=(5, 1)).target_pair()
    with pytest.raises(ValueError, match="drop it"):
        dplr.Bounds({"a": (5, 5)})


@pytest.mark.parametrize("eps", [0, -1.0, float("nan")])
def test_no_eps_is_answered_by_an_eps_and_not_by_no_privacy(eps):
    X, y = _rows()
    with pytest.raises(ValueError, match="`eps` must be positive") as caught:
        dplr.fit(X, y > 0, eps=eps)
    assert "inf" not in str(caught.value)


def test_a_column_that_a_table_to_predict_lacks_is_named_with_what_the_table_has():
    X, y = _rows()
    bounds = dplr.Bounds({"Age": (-1, 1), "hours": (-1, 1)})
    est = dplr.fit(pd.DataFrame(X, columns=["Age", "hours"]), y > 0, eps=1.0, bounds=bounds)
    with pytest.raises(ValueError, match=r"lacks \['Age'\]; got \['age', 'hours'\]. Rename 'age' to 'Age'"):
        est.predict(pd.DataFrame(X, columns=["age", "hours"]))
    with pytest.raises(ValueError, match=r"lacks \['Age'\]; got \['hours'\]. Columns are found by name: add it"):
        est.predict(pd.DataFrame(X[:, :1], columns=["hours"]))


def test_a_path_that_is_not_there_is_named():
    X, y = _rows()
    with pytest.raises(FileNotFoundError, match=r"`bounds` must be the path of a file that exists; got 'no\.toml'"):
        dplr.fit(X, y > 0, eps=1.0, bounds="no.toml")
    with pytest.raises(FileNotFoundError, match=r"`data` must name a file that exists; got 'no\.parquet'. Check"):
        dplr.fit("no.parquet", "y", eps=1.0, bounds=dplr.Bounds({"a": (0, 1)}))


def test_a_formula_is_not_taken_for_a_file():
    with pytest.raises(FileNotFoundError, match="Formulas are not read"):
        dplr.fit("y ~ a + b", "y", eps=1.0, bounds=dplr.Bounds({"a": (0, 1)}))


@pytest.mark.parametrize(("width", "told"), [(1_000, True), (1, False)])
def test_a_target_that_hardly_moves_in_its_declared_range_is_told_to_the_data_holder(width, told):
    X, y = _rows()
    bounds = dplr.Bounds([(-1, 1)] * 2, target=(-width, width))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dplr.fit(X, y, model="linear", eps=1.0, bounds=bounds)
    said = [str(each.message) for each in caught if each.category is dplr.DataWarning]
    assert any("of its declared range" in each for each in said) is told


def test_a_warning_that_is_an_error_comes_before_anything_is_spent(tmp_path):
    X, y = _rows()
    bounds = dplr.Bounds([(-1, 1)] * 2, target=(-1_000, 1_000))
    ledger = dplr.Ledger(tmp_path / "budget", eps=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplr.DataWarning)
        with pytest.raises(dplr.DataWarning, match="of its declared range"):
            dplr.fit(X, y, model="linear", eps=1.0, bounds=bounds, ledger=ledger)
    assert not [entry for entry in ledger.entries() if entry.state != "refunded"]


def test_a_notebook_says_whether_a_ledger_counted_the_fit_and_nothing_where_nobody_knows(tmp_path):
    X, y = _rows()
    said = "No ledger counted this fit"
    alone = dplr.fit(X, y > 0, eps=1.0)
    assert said in alone._repr_html_()
    assert said not in str(alone.privacy_)  # which is published
    counted = dplr.fit(X, y > 0, eps=1.0, ledger=dplr.Ledger(tmp_path / "budget", eps=1.0))
    assert said not in counted._repr_html_()
    dplr.save_model(alone, tmp_path / "model.json")
    assert said not in (tmp_path / "model.json").read_text()
    assert said not in dplr.load_model(tmp_path / "model.json")._repr_html_()


@pytest.mark.parametrize("call", [dplr.fit, dplr.check, lambda *a, **k: dplr.fit_many(*a, **k)])
def test_bounds_of_weights_without_weights_are_refused(call):
    X, y = _rows()
    eps = {} if call is dplr.check else {"eps": [1.0] if call not in (dplr.fit, dplr.check) else 1.0}
    with pytest.raises(ValueError, match="`sample_weight` is required with weight_max"):
        call(X, y > 0, bounds=dplr.Bounds(None, weight_max=2), **eps)


def test_the_package_lists_its_names_and_nothing_else():
    assert dir(dplr) == sorted({*dplr.__all__, "__version__"})
    assert not {"Any", "importlib", "TYPE_CHECKING"} & set(dir(sys.modules["dplr"]))
