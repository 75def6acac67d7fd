"""`describe` of released moments: the numbers of the clipped table, what noise leaves, and how they are printed."""

import csv
import io
import json
import math
import pathlib

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")
BOUNDS = {
    "age": (18, 90),
    "gain": {"lower": 0, "upper": 50, "transform": "log1p", "missing": "indicator"},
    "flag": (0, 1),
    "rare": {"levels": ["no", "yes"], "binary": True},
    "town": {"levels": ["a", "b", "c"]},
    "part": {"levels": ["x", "y", "z"], "reference": "y"},
    "years": {"lower": 0, "upper": 20, "bins": [5, 10], "reference": 7},
    "hours": {"lower": 0, "upper": 60, "knots": [20, 40]},
}


def people(seed, n=5_000):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 20, n)
    table = {
        "age": age, "gain": np.where(rng.random(n) < 0.2, np.nan, np.exp(rng.normal(2, 1.5, n))),
        "flag": (rng.random(n) < age / 100).astype(float), "rare": np.where(rng.random(n) < 0.02, "yes", "no"),
        "town": rng.choice(["a", "b", "c"], n), "part": rng.choice(["x", "y", "z", "other"], n),
        "years": rng.uniform(0, 20, n), "hours": age / 2 + rng.uniform(0, 30, n),
    }  # fmt: skip
    return pd.DataFrame(table)


def release(seed=0, eps=np.inf, bounds=BOUNDS, n=5_000, **options):
    return dplr.release_moments(
        people(seed, n), bounds=dplr.Bounds(bounds, products=[("age", "age")]), eps=eps, **options
    )


@pytest.fixture(scope="module")
def rows():
    return people(0)


@pytest.fixture(scope="module")
def exact():
    return release().describe()


@pytest.fixture(scope="module")
def lines(exact):
    return {line.name: line for line in exact.lines}


def encoded(rows):
    """Each line's column, made by hand."""
    known = np.log1p(np.clip(rows["gain"], 0, 50))
    columns = {
        "age": np.clip(rows["age"], 18, 90), "log1p(gain)": known.fillna(math.log1p(50) / 2),
        "gain is missing": rows["gain"].isna(), "flag": rows["flag"], "rare=yes": rows["rare"] == "yes",
        "rare=no": rows["rare"] == "no", "part=y": ~rows["part"].isin(["x", "z"]),
        "years in [0, 5)": rows["years"] < 5,
        "years in [5, 10)": (rows["years"] >= 5) & (rows["years"] < 10), "years in [10, 20]": rows["years"] >= 10,
        "hours (line)": np.clip(rows["hours"], 0, 60),
    }  # fmt: skip
    columns |= {f"town={level}": rows["town"] == level for level in "abc"}
    columns |= {f"part={level}": rows["part"] == level for level in "xz"}
    return {name: np.asarray(values, float) for name, values in columns.items()}


def test_without_noise_they_are_those_of_the_clipped_table(rows, exact, lines):
    columns = encoded(rows)
    for name, values in columns.items():
        assert lines[name].mean.estimate == pytest.approx(values.mean(), abs=1e-4), name
        assert lines[name].deviation.estimate == pytest.approx(values.std(), rel=2e-3), name
    for line in exact.correlations:
        expected = np.corrcoef(columns[line.first], columns[line.second])[0, 1]
        assert line.value.estimate == pytest.approx(expected, abs=1e-3)


def test_inflation_is_that_of_the_correlations(rows, lines):
    """A first level is left out; knots beside their line, and products, are."""
    columns = encoded(rows)
    names = [name for name in columns if name not in ("town=a", "rare=no", "part=y", "years in [5, 10)")]
    inverse = np.linalg.inv(np.corrcoef([columns[name] for name in names]))
    for name, value in zip(names, np.diag(inverse), strict=True):
        assert lines[name].inflation.estimate == pytest.approx(value, rel=5e-3), name
    assert lines["town=a"].inflation is None
    assert "age^2" not in lines


def test_numbers_say_what_they_are_clipped_to(exact, lines):
    assert (lines["age"].lower, lines["age"].upper) == (18, 90)
    assert lines["log1p(gain)"].upper == math.log1p(50)
    assert math.isnan(lines["rare=yes"].lower)
    text = exact.to_text()
    assert "of values clipped to the declared bounds" in text
    assert "The share of part=y, years in [5, 10) is what is in none of the other columns" in text
    assert "middle of the bounds in the mean and the deviation of gain" in text
    assert "costs nothing further" in text


def test_every_estimate_lies_in_its_interval():
    table = release(1, 1.0, delta=1e-6).describe()
    for record in table.to_frame().dropna(subset=["estimate"]).to_dict("records"):
        assert record["low"] <= record["estimate"] <= record["high"]


def test_a_curve_on_the_scale_of_a_transform_is_compared_by_its_line():
    bounds = {"age": (18, 90), "gain": {"lower": 0, "upper": 50, "transform": "log1p", "knots": 4, "missing": 5}}
    plain = release(bounds=bounds).describe()
    (pair,) = plain.correlations
    assert (pair.first, pair.second) == ("age", "log1p(gain) (line)")
    assert [line.name for line in plain.lines if line.inflation] == ["age", "log1p(gain) (line)"]


def test_noise_that_drowns_a_column_is_said():
    """Of 50 rows nothing is left of a deviation, a correlation or an inflation."""
    texts = [release(seed, 0.5, n=50).describe() for seed in range(10)]
    assert any(math.isnan(line.deviation.estimate) for table in texts for line in table.lines)
    assert all(math.isnan(line.value.estimate) for table in texts for line in table.correlations)
    assert all(math.isnan(line.inflation.estimate) for table in texts for line in table.lines if line.inflation)
    assert "cannot say" in texts[0].to_text()


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
@pytest.mark.parametrize(
    "options", [{"delta": 1e-6}, {}, {"neighbouring": "add_remove"}], ids=["gauss", "pure", "count"]
)
def test_intervals_hold_the_truth(options):
    """Each statistic in 100 releases, all columns together; red where noise or sampling counts as none."""
    bounds = {name: BOUNDS[name] for name in ("age", "flag", "rare", "town")}
    columns = encoded(people(99, 400_000))
    held = {"mean": [], "deviation": [], "correlation": []}
    for seed in range(100):
        table = release(seed, 2.0, bounds, 2_000, rng=seed, **options).describe()
        for line in table.lines:
            for part, value in (("mean", columns[line.name].mean()), ("deviation", columns[line.name].std())):
                ends = getattr(line, part)
                if not math.isnan(ends.estimate):
                    held[part].append(ends.low <= value <= ends.high)
        for line in table.correlations:
            if not math.isnan(line.value.estimate):
                value = np.corrcoef(columns[line.first], columns[line.second])[0, 1]
                held["correlation"].append(line.value.low <= value <= line.value.high)
    for part, each in held.items():
        assert len(each) > 100
        assert np.mean(each) >= 0.93, part


def test_parties_and_levels_of_intervals(exact):
    bounds = dplr.Bounds({"age": (18, 90), "flag": (0, 1)})
    parts = [dplr.release_moments(people(k), bounds=bounds, eps=1.0, party=str(k)) for k in range(2)]
    table = (parts[0] + parts[1]).describe()
    assert table.facts["n"] == "10,000"
    assert any("nobody is in the rows of two" in note for note in table.notes)
    narrow, wide = (parts[0].describe(level=level).lines[0].mean for level in (0.5, 0.99))
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    with pytest.raises(ValueError, match="level"):
        parts[0].describe(level=1.0)
    assert not exact.alarms


def test_forms(exact):
    rows = list(csv.DictReader(io.StringIO(exact.to_csv())))
    assert {row["part"] for row in rows} == {"mean", "std. deviation", "VIF", "correlation"}
    assert float(rows[0]["estimate"]) == exact.lines[0].mean.estimate
    values = json.loads(exact.to_json())
    assert values["lines"][0]["mean"]["estimate"] == exact.lines[0].mean.estimate
    assert len(exact.to_frame()) == len(rows)
    assert exact.to_latex().count(r"\begin{tabular}") == exact.to_html().count("<table") == 2
    assert "more lines" in str(exact)


def test_names_are_escaped():
    bounds = dplr.Bounds({"a<b>&_%": (0, 1), "x": (0, 1)})
    table = pd.DataFrame(np.random.default_rng(0).random((500, 2)), columns=["a<b>&_%", "x"])
    described = dplr.release_moments(table, bounds=bounds, eps=np.inf).describe()
    assert "a&lt;b&gt;&amp;_%" in described.to_html()
    assert "<b>" not in described.to_html()
    assert r"a\textless{}b\textgreater{}\&\_\%" in described.to_latex()


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bounds = dplr.Bounds({"age": (18, 90), "flag": (0, 1)})
    dplr.release_moments(people(0), bounds=bounds, eps=1.0).save("m.json")
    result = CliRunner().invoke(main, ["moments", "describe", "m.json", "--full"])
    assert result.exit_code == 0, result.output
    assert "VIF" in result.output
    assert "costs nothing further" in result.output
    for ending in ("tex", "csv", "html", "json", "txt"):
        result = CliRunner().invoke(main, ["moments", "describe", "m.json", "-o", f"t.{ending}"])
        assert result.exit_code == 0, result.output
    assert pathlib.Path("t.tex").read_text() == dplr.load_model("m.json").describe().to_latex()
    assert CliRunner().invoke(main, ["moments", "describe", "m.json", "-o", "t.xyz"]).exit_code != 0
    assert CliRunner().invoke(main, ["moments", "describe", "none.json"]).exit_code != 0
