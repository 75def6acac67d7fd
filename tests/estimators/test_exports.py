"""A released model means the same to scikit-learn and to a database."""

import copy
import dataclasses
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import dplr
import every_column
from dplr.bounds import columns, layout, products
from dplr.estimators import UnitBall
from dplr.estimators.export import parts, sql, steps
from dplr.problem import link
from exported import asked, assert_same, database

pl = pytest.importorskip("polars", reason="polars has no wheel for this Python")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
GAP = float("nan")
HOSTILE = [
    '"',
    "'",
    "a' OR '1'='1",
    '"; DROP TABLE t; --',
    "--",
    "/*",
    "`",
    "]",
    "%s",
    "?",
    ":x",
    "é\u2028",
]


@pytest.fixture(scope="module")
def models():
    """Every model of every kind of column, with and without released ranges, and one without an intercept."""
    with warnings.catch_warnings(action="ignore"):
        made = {
            (name, ranges): every_column.model(name, ranges) for name in every_column.MODELS for ranges in ("off", "on")
        }
        made["two labels", "through zero"] = every_column.model("two labels", fit_intercept=False)
    return made


@pytest.fixture(scope="module", params=["off", "on"])
def pairs(request):
    """A regression of the products of every two kinds of column, with and without released ranges."""
    est = every_column.pairs(request.param)
    assert ({"age", "age^2", "log(rate)*age"} <= set(est.ranges_)) is (request.param == "on")
    assert "age*edu" not in est.ranges_  # times the position of a level
    return est


def of_the_ball(model):
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.7, (500, 3))
    y = X[:, 0] / 3 if model == "linear" else np.digitize(X[:, 0], [-0.3, 0.3]) if model == "three" else X[:, 0] > 0
    classes = (0, 1, 2) if model == "three" else None
    return dplr.fit(X, y, model="linear" if model == "linear" else "logistic", eps=9.0, classes=classes), X


def methods(est):
    return [name for name in ("predict", "decision_function", "predict_proba") if hasattr(est, name)]


def of_the_pipeline(est, method, X):
    """What the pipeline of a model returns: its decision function is log odds where margins are none."""
    found = getattr(est, method)(X)
    return est._record.link.log_odds(found) if method == "decision_function" else found


def each(models):
    X = every_column.table(400, 1)
    return [(est, X) for est in models.values()]


FAR = {
    "rate": [-1e300, -1.0, 0.0, 5e-324, 0.5, 49.999, 50.0, 1e300, GAP],
    "area": [-1e300, -1.0, -5e-324, 0.0, 1e-9, 99.0, 100.0, 1e300, GAP],
    "week": [-1e300, -1.0, 20.0, 35.5, 45.0, 98.0, 99.0, 1e300, GAP],
    "none": ["", "a", "b", "other", "", "a", "b", "other", "a"],
}


@pytest.fixture(scope="module")
def far():
    """A model whose lower bounds are as far as its transforms go, and a reference that is empty text."""
    declared = {name: every_column.COLUMNS[name] for name in ("rate", "area", "week")}
    none = {"levels": ["a", "", "b"], "reference": "", "missing": ""}
    bounds = dplr.Bounds({**declared, "none": none}, products=[("rate", "area"), ("none", "area"), ("none", "week")])
    est = dplr.fit(pd.DataFrame(FAR), np.arange(9) > 4, bounds=bounds, mechanism="objective", eps=float("inf"))
    est.coef_ = np.random.default_rng(0).normal(size=est.coef_.shape)
    return est


# --- scikit-learn


def test_a_pipeline_takes_values_where_no_transform_exists_and_a_level_of_no_text_without_a_warning(far):
    X = pd.DataFrame(FAR)
    X.loc[8, "none"] = None
    plain, ours = far.to_sklearn(), far.decision_function(X)
    with warnings.catch_warnings(action="error"):
        assert_same(plain.decision_function(X), ours)
    bounds = dplr.Bounds({"none": {"levels": ["a", ""], "missing": ""}})
    est = dplr.fit(X, np.arange(9) > 4, bounds=bounds, mechanism="objective", eps=float("inf"))
    assert_same(est.to_sklearn().decision_function(X), est.decision_function(X))


@pytest.mark.thorough
def test_the_pipeline_of_every_model_predicts_the_same_of_every_kind_of_column(models):
    for est, X in each(models):
        plain = est.to_sklearn()
        for method in methods(est):
            assert_same(getattr(plain, method)(X), of_the_pipeline(est, method, X))
        assert list(plain.feature_names_in_) == list(every_column.COLUMNS)
    for rows in (X[X.columns[::-1]], pl.from_pandas(X)):
        assert_same(plain.decision_function(rows), of_the_pipeline(est, "decision_function", X))


def test_the_pipeline_keeps_predictions_within_the_bounds_of_the_target():
    """The line that is fitted to a step leaves the range of the step at both ends."""
    X = np.linspace(0, 1, 400)[:, np.newaxis]
    bounds = dplr.Bounds([(0, 1)], target=(0, 1))
    est = dplr.fit(X, (X[:, 0] > 0.5).astype(float), eps=math.inf, model="linear", mechanism="fm", bounds=bounds)
    predicted = est.to_sklearn().predict(X)
    assert_same(predicted, est.predict(X))
    assert (predicted.min(), predicted.max()) == (0.0, 1.0)


def test_the_pipeline_multiplies_every_two_kinds_of_column(pairs):
    X = every_column.table(400, 1)
    plain = pickle.loads(pickle.dumps(pairs.to_sklearn()))
    for rows in (X, X[X.columns[::-1]], pl.from_pandas(X)):
        assert_same(plain.predict(rows), pairs.predict(X))


def test_a_pipeline_holds_nothing_of_ours_and_works_where_dplr_is_not_installed(models, tmp_path):
    est, X = models["three labels", "on"], every_column.table(50, 1)
    held = pickle.dumps(est.to_sklearn())
    assert b"dplr" not in held
    (tmp_path / "model").write_bytes(held)
    X.to_pickle(tmp_path / "rows")
    code = (
        "import sys, pickle; sys.modules['dplr'] = None; import pandas as pd\n"
        "print(pickle.load(open('model', 'rb')).predict(pd.read_pickle('rows')).tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == str(est.predict(X).tolist())


@pytest.mark.thorough
def test_the_last_step_holds_copies_of_the_released_numbers_in_the_users_units(models):
    for (name, _), est in models.items():
        plain = est.to_sklearn()
        last = plain[-1]
        if est._record.link.share:
            product, line = plain["margins"][0].kw_args["b"], plain["margins"][1].kw_args["c"]
            assert_same(product.T, np.atleast_2d(est.coef_))
            assert_same(line[0], est.intercept_)
            product[:] = 0
        elif name == "three labels":
            assert_same(np.concatenate([one.coef_ for one in last.estimators_]), est.coef_)
            last.estimators_[0].coef_[:] = 0
        else:
            assert_same(last.coef_, est.coef_)
            assert_same(last.intercept_, est.intercept_)
            last.coef_[:] = 0
        assert est.coef_.any()
        if hasattr(est, "classes_"):
            assert_array_equal(last.classes_, est.classes_)


def test_a_pipeline_refuses_the_rows_that_the_model_refuses(models):
    est, X = models["two labels", "off"], every_column.table(20, 1)
    plain = est.to_sklearn()
    for name in every_column.REFUSING:  # columns that may not be missing
        for gap in (None, np.nan):
            broken = X.astype({name: object}) if X[name].dtype == object else X.copy()
            broken.loc[3, name] = gap
            for model in (est, plain):
                with pytest.raises(ValueError, match="NaN"):
                    model.predict(broken)
    for name in ("age", "hours", "gain", "debt", "rate", "wage", "area", "week", "heat", "tax"):
        with pytest.raises(ValueError, match="infinity"):
            plain.predict(X.assign(**{name: np.inf}))


def test_columns_by_position_and_arrays_have_a_pipeline_too():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.uniform(-1, 2, 500),
            rng.integers(0, 5, 500),
            np.where(rng.random(500) < 0.2, np.nan, rng.uniform(0, 9, 500)),
        ]
    )
    bounds = dplr.Bounds(
        [(0, 1), {"levels": [3, 1, 2]}, {"lower": 0, "upper": 9, "missing": "indicator"}],
        products=[(0, 0), (2, 0), (1, 2)],
    )
    for rows in (X, pd.DataFrame(X, columns=["a", "b", "c"])):
        est = dplr.fit(rows, X[:, 0] > 0.5, eps=9.0, bounds=bounds)
        assert_same(est.to_sklearn().decision_function(rows), of_the_pipeline(est, "decision_function", rows))


@pytest.mark.thorough
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_a_pipeline_does_not_depend_on_what_scikit_learn_is_told_to_hand_on(output, pairs):
    X, early = every_column.table(50, 1), pairs.to_sklearn()
    with config_context(transform_output=output):
        for plain in (early, pairs.to_sklearn()):
            assert_same(plain.predict(X), pairs.predict(X))


@pytest.mark.parametrize("model", ["linear", "logistic", "three"])
def test_without_bounds_the_pipeline_begins_with_the_unit_ball(model):
    est, X = of_the_ball(model)
    plain = pickle.loads(pickle.dumps(est.to_sklearn()))
    assert type(plain[0]) is UnitBall
    for method in methods(est):
        assert_same(getattr(plain, method)(X), of_the_pipeline(est, method, X))


@parametrize_with_checks([UnitBall()])
def test_the_unit_ball_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_unit_ball_is_cloned_and_names_its_columns():
    ball = clone(UnitBall()).set_output(transform="pandas").fit(pd.DataFrame({"a": [3.0], "b": [4.0]}))
    assert list(ball.transform(pd.DataFrame({"a": [3.0], "b": [4.0]}))) == ["a", "b"]
    with pytest.raises(NotFittedError):
        UnitBall().transform([[1.0]])


LINKS = {"cut": link.soft_link(0.5, 0.9), "a little": link.soft_link(0.9, 0.3), "clipped": link.clipped_link(0.45, 0.8)}


@pytest.fixture(params=LINKS.values(), ids=LINKS)
def linked(request, models):
    """A model of two labels and one of three whose margins are not log odds, some far from 0."""
    made = []
    for name in ("two labels", "three labels"):
        est = copy.deepcopy(models[name, "off"])
        est.coef_ = est.coef_ * 9
        est._record = dataclasses.replace(est._record, link=request.param)
        made.append(est)
    return made


def test_every_tool_gives_the_probabilities_of_margins_that_are_not_log_odds(linked, base):
    X = every_column.table(200, 1)
    X.to_sql("t", base, index=False)
    for est in linked:
        wanted = est.predict_proba(X)
        assert np.abs(est.decision_function(X)).max() > 40
        plain = pickle.loads(pickle.dumps(est.to_sklearn()))
        assert_same(plain.predict_proba(X), wanted)
        assert_same(plain.predict(X), est.predict(X))
        assert_same(np.transpose([asked(base, one) for one in est.to_sql("probability").values()]), wanted)
        assert_same(pd.read_sql(est.to_sql("probability", table="t"), base), wanted)


def test_no_margin_lets_a_tool_overflow_or_turns_a_label(linked, base):
    X = every_column.table(5, 1)
    X.to_sql("t", base, index=False)
    for est in linked:
        est.coef_[:] = 0.0
        for margin in (-1e6, 1e300):
            est.intercept_ = np.where(np.arange(len(est.intercept_)) == 0, margin, 0.0)
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                plain = est.to_sklearn()
                assert_same(plain.predict_proba(X), est.predict_proba(X))
                assert_same(plain.predict(X), est.predict(X))
                found = [asked(base, one) for one in est.to_sql("probability").values()]
                assert_same(np.transpose(found), est.predict_proba(X))


# --- SQL


def test_sql_takes_values_where_no_transform_exists_and_a_level_of_no_text(far, base):
    X = pd.DataFrame(FAR)
    X.loc[8, "none"] = None
    X.to_sql("t", base, index=False)
    assert_same(asked(base, far.to_sql("margin")), far.decision_function(X))


@pytest.fixture
def base():
    with database() as connection:
        yield connection


@pytest.mark.parametrize("third", range(3))
def test_sql_gives_what_the_model_predicts(models, base, third):
    every_column.table(400, 1)[:40].to_sql("t", base, index=False)
    for est, table in each(models)[third::3]:
        X = table[:40]
        assert_same(asked(base, est.to_sql()), est.predict(X))
        if not hasattr(est, "classes_"):
            continue
        margins = est.to_sql("margin")
        found = (
            asked(base, margins)
            if isinstance(margins, str)
            else np.transpose([asked(base, one) for one in margins.values()])
        )
        assert_same(found, est.decision_function(X))
        if hasattr(est, "predict_proba"):
            chances = est.to_sql("probability")
            assert list(chances) == est.classes_.tolist()
            assert_same(np.transpose([asked(base, one) for one in chances.values()]), est.predict_proba(X))


def test_sql_multiplies_every_two_kinds_of_column(pairs, base):
    X = every_column.table(400, 1)
    X.to_sql("t", base, index=False)
    assert_same(asked(base, pairs.to_sql()), pairs.predict(X))


def test_a_query_copies_what_is_asked_for_and_computes_every_output(models, base):
    X = every_column.table(400, 1)
    X.to_sql("t", base, index=False)
    for (name, _), est in models.items():
        found = pd.read_sql(est.to_sql(table=("main", "t"), keep=["not declared", "age"]), base)
        assert list(found) == ["not declared", "age", "prediction"]
        assert_same(found["age"], X["age"])
        assert_same(found["prediction"], est.predict(X))
        if name == "three labels":
            found = pd.read_sql(est.to_sql("probability", table="t"), base)
            assert list(found) == [f"probability of {label}" for label in (10, 20, 30)]
            assert_same(found, est.predict_proba(X))


def test_missing_values_that_the_bounds_refuse_make_the_answer_null(models, base):
    X = every_column.table(20, 1)
    for name in every_column.REFUSING:
        broken = X.astype({name: object})
        broken.loc[3, name] = None
        broken.to_sql("t", base, index=False, if_exists="replace")
        for model in ("regression", "two labels", "three labels", "margins"):
            found = asked(base, models[model, "off"].to_sql())
            assert [answer is None for answer in found] == [row == 3 for row in range(20)]


@pytest.mark.parametrize("model", ["linear", "logistic", "three"])
def test_sql_projects_onto_the_unit_ball_without_bounds(model, base):
    est, X = of_the_ball(model)
    pd.DataFrame(X, columns=list("abc")).to_sql("t", base, index=False)
    assert_same(asked(base, est.to_sql(columns=list("abc"))), est.predict(X))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_levels_are_names_and_levels(text, base):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({text: rng.choice([text, text + "x", "other"], 300), "n": rng.uniform(0, 1, 300)})
    bounds = dplr.Bounds({text: {"levels": [text, text + "x"]}, "n": (0, 1)}, target=(text, "no"))
    est = dplr.fit(X, np.where(X[text] == text, text, "no"), eps=20.0, bounds=bounds)
    X.to_sql("t", base, index=False)
    assert_same(asked(base, est.to_sql()), est.predict(X))
    found = pd.read_sql(est.to_sql("probability", table="t", keep=[text]), base)
    assert list(found) == [text, f"probability of {min('no', text)}", f"probability of {max('no', text)}"]
    assert_same(found.iloc[:, 1:], est.predict_proba(X))
    assert base.execute("SELECT count(*) FROM t").fetchone() == (300,)


def test_what_quotes_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="must have names and levels that SQL can write"):
        sql.Quotes('"').name("a\0b")
    with pytest.raises(ValueError, match='must not be "`" where a name or level has a backslash'):
        sql.Quotes("`").value("\\' OR 1=1 --")
    with pytest.raises(ValueError, match="must have names for SQL"):
        sql.Quotes('"').name("")
    assert sql.Quotes("[").name("a]b") == "[a]]b]"
    assert sql.Quotes("`").name("a`b") == "`a``b`"


@pytest.mark.parametrize("value", [0.1, -1 / 3, 5e-324, 1.7976931348623157e308, 123456789012345678.0, 0.0, -0.0, 1.0])
def test_numbers_are_written_exactly_and_as_approximate_numerics(value):
    assert float(sql.number(value)) == value
    assert "e" in sql.number(value)
    assert "." in sql.number(value).partition("e")[0]


def test_sql_is_refused_where_it_cannot_be_meant(models):
    est = models["two labels", "off"]
    for arguments, message in [
        (("chance",), "`output` must be one of 'prediction', 'margin', 'probability'"),
        (("prediction", {"keep": ["age"]}), "`keep` must be empty without a table"),
        (("prediction", {"table": "t", "keep": "age"}), "`keep` must be a list"),
        (("margin", {"table": "t", "keep": [f"margin of {est.classes_[1]}"]}), "none of margin of"),
        (("prediction", {"columns": ["a"]}), f"`columns` must be {len(every_column.COLUMNS)} different names"),
        (("prediction", {"quote": "'"}), "`quote` must be one of"),
    ]:
        options = arguments[1] if len(arguments) > 1 else {}
        with pytest.raises(ValueError, match=message):
            est.to_sql(arguments[0], **options)
    with pytest.raises(ValueError, match="`output` must be one of 'prediction'"):
        models["regression", "off"].to_sql("margin")
    with pytest.raises(
        ValueError, match=r"`columns` must be 3 different names; got None\. The model was fitted on an array"
    ):
        of_the_ball("linear")[0].to_sql()


# --- what no tool knows


def test_every_tool_has_every_part_and_every_transform():
    assert set(parts.KINDS) == set(steps._STEPS) == set(sql._TERMS)
    assert set(columns.TRANSFORMS) == set(sql._FORWARD)


def test_no_option_of_a_column_is_left_out():
    """Whoever adds a kind, or an option, looks at what each tool makes of it, and then lists it here."""
    known = {
        columns.Numeric: {"lower", "upper", "transform", "missing", "flag"},
        columns.Curve: {"lower", "upper", "transform", "missing", "flag", "knots", "line"},
        columns.Bins: {"lower", "upper", "edges", "missing", "reference"},
        columns.Levels: {"levels", "kind", "missing", "reference", "spellings", "least_share"},
        products.Product: {"places", "factors"},
        layout.Layout: {"features", "columns", "named", "products", "provenance"},
    }
    assert {*columns.Column.__args__, columns.Curve, products.Product, layout.Layout} == set(known)
    further = {kind for base in known for kind in base.__subclasses__() if kind.__module__.startswith("dplr.")}
    assert {kind.__name__ for kind in further} == {"Curve"}
    assert {kind: {field.name for field in dataclasses.fields(kind)} for kind in known} == known


def test_parts_have_the_columns_of_the_model(models, pairs):
    for est in (*models.values(), pairs):
        prep = est._record.prep
        assert sum(part.width for part in parts.parts_of(prep)) == len(prep.layout.names) == est.coef_.shape[-1]


def test_a_missing_value_that_counts_as_the_empty_level_does_so_everywhere():
    levels = {"levels": ["", "a", "b"], "missing": ""}
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"k": rng.choice(["", "a", "b"], 400)})
    est = dplr.fit(frame, frame["k"] == "", eps=9.0, bounds={"k": levels}, mechanism="fm")
    odd = pd.DataFrame({"k": ["", None, "a", "unknown"]}, dtype=object)
    np.testing.assert_allclose(est.to_sklearn().decision_function(odd), est.decision_function(odd), rtol=1e-12)
    assert est.decision_function(odd)[0] == est.decision_function(odd)[1]


@pytest.mark.parametrize("quote", ['"', "`", "["])
def test_a_level_with_a_backslash_has_no_sql(quote):
    """Where a backslash escapes the quote behind it, the rest of the level would be read as SQL."""
    frame = pd.DataFrame({"k": ["a", "b"] * 100})
    hostile = {"k": {"levels": ["a", "\\') THEN 0 END); DROP TABLE t; --"]}}
    est = dplr.fit(frame, frame["k"] == "a", eps=1.0, bounds=hostile, mechanism="fm")
    with pytest.raises(ValueError, match="backslash"):
        est.to_sql(quote=quote)
