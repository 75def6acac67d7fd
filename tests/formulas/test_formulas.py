"""Formulas: the columns, references and products of the bounds that they name, and all else refused by name."""

import csv
import pathlib
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import dplr
from dplr.cli import main

TOWN = {"levels": ["north", "south", "east"]}
SEX = {"levels": ["f", "m"], "binary": True}
FEATURES = {
    "age": (18, 99),
    "gain": {"lower": 0, "upper": 100, "transform": "log1p"},
    "town": TOWN,
    "sex": SEX,
    "years": {"lower": 0, "upper": 20, "bins": [5, 10]},
    "rank": {"levels": ["a", "b", "c"], "ordinal": True},
    "my col": (0, 1),
}
TARGET = {"lower": 0, "upper": 80_000}
BOUNDS = dplr.Bounds(FEATURES, target=TARGET, products=[("age", "sex"), ("age", "age")])
FAST = {"model": "linear", "mechanism": "fm", "eps": 1.0, "rng": 7}
pytestmark = [
    pytest.mark.filterwarnings("ignore::dplr.DataWarning"),
    pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning"),
]


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(0), 3_000
    table = pd.DataFrame({"age": rng.uniform(18, 99, n), "gain": rng.exponential(20, n), "my col": rng.random(n)})
    table["town"], table["sex"] = rng.choice(TOWN["levels"], n), rng.choice(["f", "m"], n)
    table["years"], table["rank"] = rng.uniform(0, 20, n), rng.choice(["a", "b", "c"], n)
    table["income"] = 10_000 + 300 * table["age"] + 9_000 * (table["sex"] == "m") + rng.normal(0, 3_000, n)
    table["insured"] = np.where(rng.random(n) < table["age"] / 120, "yes", "no")
    return table


ALIKE = {
    "income ~ age + sex": (["age", "sex"], {}, [], True),
    "income ~ sex + age": (["sex", "age"], {}, [], True),
    "income ~ age*sex": (["age", "sex"], {}, [("age", "sex")], True),
    "income ~ age + sex + sex:age": (["age", "sex"], {}, [("sex", "age")], True),
    "income ~ age*C(town)": (["age", "town"], {}, [("age", "town")], True),
    "income ~ sex*town - 1": (["sex", "town"], {}, [("sex", "town")], False),
    "income ~ 0 + age": (["age"], {}, [], False),
    "income ~ (age + sex + `my col`)**2": (
        ["age", "sex", "my col"], {}, [("age", "sex"), ("age", "my col"), ("sex", "my col")], True,
    ),
    "income ~ age + I(age**2)": (["age"], {}, [("age", "age")], True),
    "income ~ age + `my col` + I(age * `my col`)": (["age", "my col"], {}, [("age", "my col")], True),
    'income ~ age*C(town, Treatment("east"))': (
        ["age", "town"], {"town": {**TOWN, "reference": "east"}}, [("age", "town")], True,
    ),
    "income ~ C(town, contr.treatment(base='south')) + C(town, contr.treatment('south')):age + age": (
        ["town", "age"], {"town": {**TOWN, "reference": "south"}}, [("town", "age")], True,
    ),
    "income ~ C(town, contr.treatment)": (["town"], {"town": {**TOWN, "reference": "north"}}, [], True),
    "income ~ C(sex, Treatment('m'))": (["sex"], {"sex": {"levels": ["m", "f"], "binary": True}}, [], True),
    "income ~ C(sex, Treatment(reference='f'))": (["sex"], {}, [], True),
    "income ~ C(years, Treatment(7))": (["years"], {"years": {**FEATURES["years"], "reference": 7}}, [], True),
    "income ~ log1p(gain) + rank": (["gain", "rank"], {}, [], True),
    "income ~ np.log1p(gain) + gain + rank": (["gain", "rank"], {}, [], True),
    "income ~ . - town": ([name for name in FEATURES if name != "town"], {}, [], True),
}  # fmt: skip


@pytest.mark.parametrize("formula", ALIKE)
def test_a_model_is_that_of_the_columns_declared_by_hand(formula, people):
    """In every bit, with the noise of one seed."""
    names, changed, products, intercept = ALIKE[formula]
    features = {name: FEATURES[name] for name in names} | changed
    bounds = dplr.Bounds({name: features[name] for name in names}, target=TARGET, products=products)
    expected = dplr.fit(people, "income", bounds=bounds, fit_intercept=intercept, **FAST)
    est = dplr.fit(formula, people, bounds=BOUNDS, **FAST)
    assert est.coef_names_ == expected.coef_names_
    assert np.array_equal(est.coef_, expected.coef_)
    assert est.intercept_ == expected.intercept_
    assert est.privacy_ == expected.privacy_
    assert est.target_name_ == "income"


def test_a_label_is_that_of_the_bounds(people):
    bounds = dplr.Bounds(FEATURES, target={"classes": ["no", "yes"]})
    est = dplr.fit("insured ~ age", people, bounds=bounds, eps=1.0, rng=1)
    assert isinstance(est, dplr.LogisticRegression)
    assert list(est.classes_) == ["no", "yes"]
    assert est.coef_names_ == ("age",)


def test_a_target_among_the_features_gives_its_bounds(people):
    every = FEATURES | {"income": (0, 80_000), "insured": {"levels": ["no", "yes"]}}
    formula = dplr.Formula("income ~ . - insured", every)
    assert formula.bounds.target == (0, 80_000)
    assert "income" not in formula.bounds.names
    assert dplr.Formula("insured ~ age", every).bounds.target == ("no", "yes")
    with pytest.raises(ValueError, match=r"must have a number or levels as its target; gain is .* log1p"):
        dplr.Formula("gain ~ age", every)


@pytest.mark.parametrize(
    "formula", ["income ~ age:sex", "income ~ age + age:sex", "income ~ I(age**2)", "income ~ age/sex"]
)
def test_products_stand_beside_their_columns_and_it_is_said(formula):
    with pytest.warns(dplr.UtilityWarning, match="bounds have products beside their columns, so the model has"):
        read = dplr.Formula(formula, BOUNDS)
    assert "age" in read.bounds.coef_names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dplr.Formula("income ~ age*sex + I(age**2)", BOUNDS)


LEARNING = ["scale", "center", "standardize", "poly", "bs", "cr", "cc", "cs", "te", "cut", "qcut"]


@pytest.mark.parametrize("name", LEARNING)
def test_what_learns_from_rows_is_refused_by_name(name):
    for call in (f"{name}(age)", f"pkg.{name}(age, 3)"):
        with pytest.raises(
            ValueError, match=rf"must not have (pkg\.)?{name}\(\): it would learn from the rows.*\. [WD]"
        ):
            dplr.Formula(f"income ~ sex + {call}", BOUNDS)


REFUSED = {
    "income ~ I(age - mean(age))": "must not have I\\(\\) of anything but a square or a product",
    "income ~ I(age**3)": "must not have I\\(\\) of anything but",
    "income ~ age.mean()": "must not have age.mean\\(\\): no term is computed from the rows",
    "income ~ lag(age)": "must not have lag\\(\\): no term is computed",
    "income ~ {age + 1}": "must not have Python: no term is computed",
    "income ~ log(age)": '`formula` must have the transform of age that its bounds have.*"transform": "log" of age',
    "income ~ sqrt(gain)": '"transform": "sqrt" of gain',
    "income ~ C(age)": "must have levels or bins in C\\(\\), and age is declared",
    "income ~ C(rank)": "must have levels or bins in C\\(\\), and rank is declared",
    "income ~ C(town, Sum)": "must not have the contrasts Sum",
    "income ~ C(town, contr.helmert())": "must not have the contrasts contr.helmert",
    "income ~ C(town, Treatment('west'))": r"must have a level of town as the reference, one of \['north'",
    "income ~ C(town, Treatment(north))": "must name one level as the reference.*Treatment\\('north'\\)",
    "income ~ C(town, levels=['north'])": "must have C\\(\\) of a column and its reference alone",
    "income ~ C(town, Treatment('east')) + C(town, Treatment('south')):age": "as in other terms with 'east'",
    "income ~ age:sex:town": "must have products of two columns at most; got 'income ~ age:sex:town'",
    "income ~ I(age**2):sex": "must have products of two columns at most",
    "income ~ I(town**2)": "must not multiply levels by themselves",
    "income ~ 2:age": "must not multiply columns by numbers; got '2:age'",
    "income ~ agee": r"must have columns that the bounds name.*Did you mean 'age'\?",
    "income ~ income + age": "must have the target, 'income', on its left side alone",
    "income ~ 1": "must have at least one column",
    "log(income) ~ age": "must have the name of one column on its left side",
    "income + age ~ sex": "must have the name of one column on its left side",
    "{income == 1} ~ age": "must have the name of one column on its left side.*classes",
    "income == 1 ~ age": r"must be one that formulaic reads \(Unknown operator",
    "income ~ age + (": "must be one that formulaic reads",
    "income ~ {age:sex}": "must be one that formulaic reads",
    "income ~ age | sex": "must be of one model",
    "age + sex": "must have two sides",
    "": "must have two sides",
}  # fmt: skip


@pytest.mark.parametrize("formula", REFUSED)
def test_all_else_is_refused_by_name(formula):
    every = dplr.Bounds(FEATURES | {"income": (0, 80_000)})
    with pytest.raises(ValueError, match=REFUSED[formula]):
        dplr.Formula(formula, every)


def test_a_refusal_spends_nothing(people, tmp_path):
    ledger = dplr.Ledger(tmp_path / "b.db", eps=1.0)
    with pytest.raises(ValueError, match=r"scale\(\)"):
        dplr.fit("income ~ scale(age)", people, bounds=BOUNDS, ledger=ledger, model="linear", eps=1.0)
    assert ledger.remaining()[0] == 1.0


def test_nothing_is_evaluated(monkeypatch):
    monkeypatch.setattr("os.system", lambda *_: pytest.fail("evaluated"))
    for formula in ("income ~ __import__('os').system('x')", "income ~ {__import__('os').system('x')}"):
        with pytest.raises(ValueError, match="`formula` must"):
            dplr.Formula(formula, BOUNDS)
    with pytest.raises(ValueError, match="must not have the contrasts"):
        dplr.Formula("income ~ C(town, __import__('os').system('x'))", BOUNDS)


def test_bounds_by_position_and_no_bounds_are_refused(people):
    for bounds in (None, [(0, 1)]):
        with pytest.raises((ValueError, TypeError), match="bounds"):
            dplr.fit("income ~ age", people, bounds=bounds if bounds is None else dplr.Bounds(bounds), eps=1.0)
    with pytest.raises(TypeError, match="must be text"):
        dplr.Formula(3, BOUNDS)


def test_rows_may_be_any_table_or_stream(people, tmp_path, monkeypatch):
    """The kind of the rows says that the first argument is a formula: a path may have a tilde too."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a~b.parquet"
    parquet.write_table(pyarrow.Table.from_pandas(people), path)
    formula = "income ~ age*sex"
    expected = dplr.fit(formula, people, bounds=BOUNDS, **FAST)
    for rows in (pyarrow.Table.from_pandas(people), pl.from_pandas(people), path, str(path), "*.parquet", [str(path)],
                 dplr.Stream(path), pl.from_pandas(people).lazy()):  # fmt: skip
        est = dplr.fit(formula, rows, bounds=BOUNDS, **FAST)
        assert np.array_equal(est.coef_, expected.coef_)
    bounds = expected_bounds()
    assert np.array_equal(dplr.fit("a~b.parquet", "income", bounds=bounds, **FAST).coef_, expected.coef_)
    pathlib.Path("income").write_text("a file with the name of a column")
    assert np.array_equal(dplr.fit("a~b.parquet", "income", bounds=bounds, **FAST).coef_, expected.coef_)


def expected_bounds():
    return dplr.Formula("income ~ age*sex", BOUNDS).bounds


def test_the_value_is_for_plans_and_estimators(people):
    formula = dplr.Formula("income ~ age*sex - 1", BOUNDS)
    options = {"mechanism": "fm", "eps": 1.0, "fit_intercept": formula.fit_intercept, "bounds": formula.bounds}
    assert dplr.plan(model="linear", n_rows=3_000, **options).statement.eps == 1.0
    est = dplr.LinearRegression(rng=7, **options).fit(people, formula.target)
    assert np.array_equal(est.coef_, dplr.fit(formula.text, people, bounds=BOUNDS, **FAST).coef_)
    assert not est.intercept_


def test_many_fits_take_a_formula(people):
    (est,) = dplr.fit_many(
        "income ~ 0 + age*sex", people, eps=[1.0], bounds=BOUNDS, model="linear", mechanism="fm", rng=7
    )
    assert est.coef_names_ == ("age", "sex=m", "age*sex=m")
    assert not est.intercept_


def test_persons_and_weights_of_the_bounds_stay(people):
    table = people.assign(id=np.arange(len(people)) // 3)
    bounds = dplr.Bounds(FEATURES, target=TARGET, person="id", rows_per_person=3)
    est = dplr.fit("income ~ age", table, bounds=bounds, **FAST)
    assert est.privacy_.unit.person == "id"


def test_without_formulaic_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "formulaic.parser", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "\.\[formulas\]"'):
        dplr.Formula("income ~ age", BOUNDS)


def test_models_are_saved_and_exported_as_any(people, tmp_path):
    est = dplr.fit('income ~ age*C(town, Treatment("east"))', people, bounds=BOUNDS, **FAST)
    dplr.save_model(est, tmp_path / "m.json")
    back = dplr.load_model(tmp_path / "m.json")
    assert np.array_equal(back.predict(people[:5]), est.predict(people[:5]))
    assert "east" in str(est.summary())


@pytest.fixture
def folder(tmp_path, monkeypatch, people):
    monkeypatch.chdir(tmp_path)
    BOUNDS.to_toml("bounds.toml")
    with open("people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(people.columns)
        writer.writerows(people.head(1_000).values.tolist())
    return tmp_path


def command(*arguments):
    fixed = ("fit", "people.csv", "--bounds", "bounds.toml", "--model", "linear", "--eps", "1", "-o", "m.json")
    return CliRunner().invoke(main, [*fixed, *arguments])


def test_the_command(folder):
    result = command("--formula", "income ~ 0 + age*sex")
    assert result.exit_code == 0, result.output
    est = dplr.load_model("m.json")
    assert est.coef_names_ == ("age", "sex=m", "age*sex=m")
    assert est.target_name_ == "income"
    assert not est.intercept_


def test_the_command_refuses(folder):
    for arguments, words in (
        ((), "Give --target, or a --formula"),
        (("--target", "income", "--formula", "income ~ age"), "Give --target, or a --formula"),
        (("--formula", "income ~ scale(age)"), "scale()"),
    ):
        result = command(*arguments)
        assert result.exit_code == 2, result.output
        assert words in result.output
    assert not pathlib.Path("m.json").exists()


def test_the_command_says_which_columns_a_product_brings(folder):
    result = command("--formula", "income ~ age:sex")
    assert result.exit_code == 0, result.output
    assert "the model has age and sex too" in result.output


@pytest.mark.parametrize(
    ("right", "rule"),
    [
        ("*".join([*"abcdefghijklmnopqrstuvwxyz"]), "must have products of two columns at most"),
        ("(age + sex)**99999999999999999999", "must have products of two columns at most"),
        ("((age + sex + town)**9)**9", "must have products of two columns at most"),
        ("age" + "**2" * 999, "must have products of two columns at most"),
        (".:" * 999 + "age", "must have products of two columns at most"),
        (".+" * 3000 + "age", "must have at most 16,384 terms"),
        ("+" * 2**16 + "age", "must have at most 65,536 characters"),
        ("I(" + "-" * 3000 + "age)", "must be one that formulaic reads"),
    ],
)
def test_a_formula_is_bounded_before_its_products_are_written_out(right, rule, monkeypatch):
    if right != "I(" + "-" * 3000 + "age)":
        monkeypatch.setattr("formulaic.parser.DefaultFormulaParser.get_terms", lambda *_, **__: pytest.fail("written"))
    with pytest.raises(ValueError, match=f"^`formula` {rule}"):
        dplr.Formula(f"income ~ {right}", dplr.Bounds(FEATURES | {"income": (0, 80_000)}))


def test_many_columns_may_have_all_their_products_of_two():
    bounds = dplr.Bounds({f"x{j}": (0, 1) for j in range(40)} | {"income": (0, 1)})
    assert len(dplr.Formula("income ~ .**2 - x0:x1", bounds).bounds.coef_names) == 40 + 40 * 39 // 2 - 1
