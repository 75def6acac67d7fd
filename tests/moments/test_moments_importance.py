"""Importance of columns in a release of moments: less noise where it counts, coefficients in the user's units."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.model_file.strict_json import digest

BOUNDS = dplr.Bounds(
    {
        "a": (0, 2),
        "b": {"levels": ["x", "y", "z"]},
        "c": {"lower": 0, "upper": 9, "missing": "indicator"},
        "d": (-4, 9),
    },
    products=[("a", "a"), ("a", "b")],
)
IMPORTANCE = {"a": 4, "c": 0.5, "d": 2.0, ("a", "b"): 3, "a*a": 0.25}
NUMBERS = (4.0, 1.0, 0.5, 2.0, 0.25, 3.0)

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.uniform(0, 2, n), "b": rng.choice(["x", "y", "z"], n), "c": rng.uniform(0, 9, n)})
    frame["d"] = 3 * frame["a"] + (frame["b"] == "y") - 0.2 * frame["c"] + rng.normal(0, 0.5, n)
    frame.loc[::9, "c"] = np.nan
    return frame


def release(seed=0, **options):
    given = {"bounds": BOUNDS, "eps": 1.0, "delta": 1e-6, "noise": "gaussian", "importance": IMPORTANCE}
    return dplr.release_moments(table(seed=seed), **(given | options))


@pytest.mark.parametrize("question", ["number", "marked", "level", "product"])
def test_without_noise_models_in_the_users_units_do_not_depend_on_importance(question):
    plain, weighted = (release(eps=math.inf, importance=each) for each in (None, IMPORTANCE))
    assert plain.importance == ()
    assert weighted.importance == NUMBERS

    def model(released):
        if question == "level":
            return released.probability("b", ["a", "d"], level="y", l2=0.0)
        columns = {"number": ["a", "b"], "marked": ["c"], "product": [("a", "a"), "a"]}[question]
        return released.regress("d", columns, l2=0.0)

    expected, found = model(plain), model(weighted)
    rows = table(50, seed=9)[list(found.feature_names_in_)]
    assert found.predict(rows) == pytest.approx(expected.predict(rows), abs=2e-4)
    assert found.r2_ == pytest.approx(expected.r2_, abs=1e-5)
    if question == "number":
        truth = np.linalg.lstsq(
            np.column_stack([table()["a"], pd.get_dummies(table()["b"]).astype(float)]), table()["d"], rcond=None
        )[0]
        assert found.coef_[0] == pytest.approx(truth[0], abs=2e-4)


def test_the_noise_of_a_product_is_divided_by_both_and_grows_with_the_mean_square():
    """In the user's units: the standard errors of slopes on an important column, and of a slope without it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (100, 4))
    bounds = dplr.Bounds([(0, 1)] * 4)
    plain, weighted = (
        dplr.release_moments(X, bounds=bounds, eps=1.0, delta=1e-6, noise="gaussian", importance=each)
        for each in (None, {"column 0": 3, "column 1": 2})
    )
    scales = [np.outer(each.prep.scale[:4], each.prep.scale[:4]) / 2**40 for each in (plain, weighted)]
    spread = [
        np.sqrt(each.cell_variances[:4, :4]) / scale for each, scale in zip((plain, weighted), scales, strict=True)
    ]
    counted = np.array([3, 2, 1, 1])
    assert spread[1] / spread[0] == pytest.approx(np.mean(counted**2) / np.outer(counted, counted), rel=1e-4)


def test_a_release_says_its_importance_and_is_read_back_bit_for_bit(tmp_path):
    released = release(party="north")
    fact = "declared importance of columns (1 for others): a 4, c 0.5, d 2, (a - 1) squared 0.25, "
    assert any(said.startswith(fact) for said in released.privacy_.assumptions)
    assert released.privacy_.calibration.endswith(
        "rows in 6 groups of sizes 0.0454073 to 0.726522, intercept constant 0.5"
    )
    released.save(tmp_path / "m.json")
    for read in (dplr.load_moments(tmp_path / "m.json"), pickle.loads(pickle.dumps(released))):
        assert read.importance == NUMBERS
        assert np.array_equal(read.matrix, released.matrix)
        assert np.array_equal(read.cell_variances, released.cell_variances)
        assert np.array_equal(read.regress("d").coef_, released.regress("d").coef_)
    model = released.regress("d", ["a", "c"])
    model.save(tmp_path / "model.json")
    assert np.array_equal(dplr.load_model(tmp_path / "model.json").coef_, model.coef_)


def test_columns_that_count_alike_are_a_release_without_importance(tmp_path):
    released = release(importance=dict.fromkeys([*BOUNDS.names, "a*a", "a*b"], 3))
    assert released.importance == ()
    released.save(tmp_path / "m.json")
    assert "importance" not in json.loads((tmp_path / "m.json").read_text())["moments"]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda held: held.pop("importance"), "must be the digest of what was released"),
        (lambda held: held.update(importance=[1.0] * 6), "must be 6 numbers that are not all equal"),
        (lambda held: held.update(importance=[4.0, 1.0]), "must be 6 numbers that are not all equal"),
        (lambda held: held.update(importance=[4.0, 1.0, 0.5, 2.0, 0.25, 11.0]), "must be at least 0.1 and at most 10"),
        (lambda held: held.update(importance=[1.0, 4.0, 0.5, 2.0, 0.25, 3.0]), "must name the columns"),
        (lambda held: held.update(importance={"a": 4.0}), "must be a list"),
        (lambda held: held.update(importance=[4, 1, 0.5, 2, 0.25, 3]), "must be a number with a point"),
    ],
)
def test_a_forged_importance_is_refused(change, rule, tmp_path):
    release().save(tmp_path / "m.json")
    whole = json.loads((tmp_path / "m.json").read_text())
    change(whole["moments"])
    whole["sha256"] = digest(whole["moments"])
    (tmp_path / "m.json").write_text(json.dumps(whole))
    with pytest.raises(dplr.ModelFileError, match=rule):
        dplr.load_moments(tmp_path / "m.json")


def test_noise_for_less_than_the_sensitivity_of_unequal_columns_is_refused(tmp_path):
    """A file whose importance was changed in the statement too: its noise is that of other columns."""
    release(delta=0.0, importance={"b": 0.1, "c": 0.1, "d": 0.1, "a*a": 0.1, "a*b": 0.1}).save(tmp_path / "m.json")
    whole = json.loads((tmp_path / "m.json").read_text())
    held, party = whole["moments"], whole["moments"]["parties"][0]
    held["importance"] = [1.0, 1.0, 1.0, 1.0, 1.0, 0.5]
    facts = party["statement"]["assumptions"]
    place = next(k for k, fact in enumerate(facts) if fact.startswith("declared importance"))
    facts[place] = "declared importance of columns (1 for others): (a - 1) * each column of b 0.5"
    whole["sha256"] = digest(held)
    (tmp_path / "m.json").write_text(json.dumps(whole))
    with pytest.raises(dplr.ModelFileError, match="must have the weights, the sensitivity and the noise"):
        dplr.load_moments(tmp_path / "m.json")


def test_parties_of_one_importance_merge_and_others_do_not(tmp_path):
    one, two, other, plain = release(1), release(2), release(3, importance={"a": 2}), release(4, importance=None)
    both = one + two
    assert both.importance == NUMBERS
    both.save(tmp_path / "m.json")
    assert np.array_equal(dplr.load_moments(tmp_path / "m.json").matrix, both.matrix)
    for release_of_others in (other, plain):
        with pytest.raises(ValueError, match=r"`others` must have the importance \(4, 1, 0.5, 2, 0.25, 3\)"):
            one + release_of_others
    with pytest.raises(ValueError, match="importance 1 of all columns"):
        plain + one


@pytest.mark.parametrize(
    ("importance", "error", "words"),
    [
        ({"a": 0}, ValueError, "must be between 0.1 and 10"),
        ({"a": math.nan}, ValueError, "must be between 0.1 and 10"),
        ({"a": 11}, ValueError, "must be between 0.1 and 10"),
        ({"a": -1}, ValueError, "must be between 0.1 and 10"),
        ({"a": True}, TypeError, "must be a real number"),
        ({"a": "2"}, TypeError, "must be a real number"),
        ([4, 1, 1, 1], TypeError, "must map names of columns to numbers"),
        ({"aa": 2}, ValueError, "must be one of"),
        ({"a*b": 2, ("b", "a"): 2}, ValueError, "must name every column once"),
        ({"a*d": 2}, ValueError, "must hold products among"),
        ({3: 2}, TypeError, "must hold names of columns"),
    ],
)
def test_what_no_importance_can_be_is_refused_before_anything_is_spent(importance, error, words, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=2.0)
    left = ledger.remaining()
    with pytest.raises(error, match=f"`importance` {words}"):
        release(importance=importance, delta=0.0, noise="smaller", ledger=ledger)
    assert ledger.remaining() == left


def test_columns_that_are_not_released_have_no_importance():
    assert release(columns=["a", "d"], importance={"d": 2}).importance == (1.0, 2.0, 1.0)
    with pytest.raises(ValueError, match="`importance` must be one of"):
        release(columns=["a", "d"], importance={"c": 2})


def test_intervals_of_an_important_column_are_shorter_and_cover():
    bounds, covered, widths = dplr.Bounds([(0, 1)] * 4 + [(0, 1.1)]), [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 1, (4000, 5))
        X[:, 4] = 0.2 + 0.4 * X[:, 0] + 0.1 * rng.uniform(-1, 1, 4000)
        both = [
            dplr.release_moments(X, bounds=bounds, eps=2.0, delta=1e-6, noise="gaussian", importance=each)
            .regress("column 4", ["column 0", "column 1"])
            .conf_int()["column 0"]
            for each in (None, {"column 0": 3, "column 4": 3})
        ]
        covered.append(both[1][0] <= 0.4 <= both[1][1])
        widths.append([high - low for low, high in both])
    assert np.mean(covered) > 0.87
    plain, important = np.median(widths, axis=0)
    assert important < 0.6 * plain
