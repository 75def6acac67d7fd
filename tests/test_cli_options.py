"""Every option of every command arrives where it must: one line for each, and a guard that none is missing.

A line says what is typed, and where it is seen: as an argument of the function of the package that does the work; in
what is printed or written; or in that the command is refused without it.
"""

import contextlib
import csv
import functools
import inspect
import pathlib
import shutil
from typing import NamedTuple

import click
import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.estimators._base import PrivateLinearModel
from dplr.ledger.handle import Ledger
from dplr.moments.released import ReleasedMoments

pytestmark = pytest.mark.filterwarnings("ignore")

BOUNDS = """
[features.age]
lower = 18
upper = 99
[features.hours]
lower = 0
upper = 80
[features.place]
levels = ["Köln", "Bonn"]
[target]
classes = ["no", "yes"]
"""
ROWS = 300


class Line(NamedTuple):
    """What is typed after the base of a command, what stands beside it, and where it is seen."""

    typed: str
    seen: tuple
    beside: str = ""


def passes(entry, name, value=None):
    """As this argument of a function: the value, or what a function of it says is right."""
    return ("passes", entry, name, value)


def shows(text):
    """A text on the screen, or in the file that is written, which is not there without it."""
    return ("shows", text)


def hides(text):
    """A text that is there only without it."""
    return ("hides", text)


WORKS = ("works",)  # the command is refused without it


def form(table):
    """How files are written: of each there is a file that cannot be read otherwise."""
    return {
        "encoding": Line("--encoding latin-1", WORKS, table.format("latin.csv")),
        "decimal": Line("--decimal ,", WORKS, table.format("decimal.csv") + " --delimiter ;"),
        "delimiter": Line("--delimiter ;", WORKS, table.format("semicolons.csv")),
        "spellings": Line("--missing ?", passes("read_table", "form", lambda form: form.spellings == ("?",))),
    }


def pays():
    """A ledger, its share, and a label: they are seen in the ledger afterwards."""
    return {
        "ledger_path": Line("--ledger budget.db", shows("Left in budget.db")),
        "share": Line("--share alice", shows("share alice of budget.db"), "--ledger budget.db"),
        "label": Line("--label wave7", passes("labelled", "label", "wave7"), "--ledger budget.db"),
    }  # fmt: skip


def unit(entry, weight=True):
    """Persons and weights, as parameters of a function."""
    lines = {
        "person": Line("--person id", passes(entry, "person", "id")),
        "rows_per_person": Line("--rows-per-person 3", passes(entry, "rows_per_person", 3), "--person id"),
        "weight_max": Line("--weight-max 4", passes(entry, "weight_bounds", (0, 4.0)), "--weight w"),
    }
    seen = passes(entry, "sample_weight", "w") if weight else WORKS
    return lines | {"weight": Line("--weight w", seen, "--weight-max 4")}


def promise(entry):
    """The options of a fit, as parameters of a function."""
    return {
        "bounds": Line("--bounds narrow.toml", passes(entry, "bounds", lambda bounds: len(bounds.columns) == 1)),
        "eps": Line("--eps 0.7", passes(entry, "eps", 0.7)),
        "delta": Line("--delta 1e-6", passes(entry, "delta", 1e-6)),
        "large_delta": Line("--large-delta", passes(entry, "large_delta", True), "--delta 0.1"),
        "aim": Line(
            "--aim coefficients", passes(entry, "aim", "coefficients"), "--mechanism score --delta 1e-6 --eps 50"
        ),
        "mechanism": Line("--mechanism output", passes(entry, "mechanism", "output")),
        "model": Line("--model svm", passes(entry, "model", "svm")),
        "neighbouring": Line("--neighbouring add_remove", passes(entry, "neighbouring", "add_remove")),
        "l2": Line("--l2 0.25", passes(entry, "l2", 0.25)),
        "no_intercept": Line("--no-intercept", passes(entry, "fit_intercept", False)),
        "curves": Line("--curves 5", passes(entry, "curves", 5)),
        "ranges": Line("--ranges on", passes(entry, "ranges", "on")),
        "public": Line(
            "--public public.csv",
            passes(entry, "public", lambda rows: rows is not None and len(rows[1]) == 5),
            "--target sick",
        ),
    }


def simulation(typed, name, value, entry="plan_curve", beside="--curve"):
    return Line(typed, passes(entry, "assume", lambda assume: getattr(assume, name) == value), beside)


OVERWRITE = Line("--overwrite", WORKS, "-o taken{ending}")
QUIET = Line("-q", hides("Wrote"))
TABLE = {
    "level": Line("--level 0.8", passes("summary", "level", 0.8)),
    "joint": Line("--joint", passes("summary", "joint", True)),
    "effect_bound": Line("--effect-bound 3", passes("summary", "effect_bound", 3.0)),
}
COMMANDS = {
    "fit": ("fit {data} --target sick --bounds bounds.toml --eps 0.4 -o out.json", promise("fit") | unit("fit")
            | form("DATA={}") | pays() | {
        "data": Line("DATA=more.csv", passes("fit", "X", lambda X: len(X) == ROWS + 1)),
        "target": Line("--target other", passes("fit", "y", lambda y: "yes" not in y.to_pylist()), "--bounds bounds.toml"),
        "formula": Line("--formula sick~age", passes("fit", "bounds", lambda bounds: len(bounds.columns) == 1), "NO=--target"),
        "n_rows": Line("--n-rows 77", passes("fit", "n_rows", 77), "--neighbouring add_remove"),
        "resume": Line("--resume", passes("job", "resume", True), "--ledger budget.db"),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
        "keep": Line("--keep .", passes("read_rows", "keep", ".")),
        "progress": Line("--progress", passes("fit", "progress", True)),
        "statement": Line("--statement", shows("Privacy statement (")),
        "quiet": QUIET,
    }),
    "predict": ("predict {model} {data} -o out.csv", form("DATA={}") | {
        "model": Line("MODEL=linear.json", hides("yes")),
        "data": Line("DATA=more.csv", shows(f"{ROWS + 1} predictions")),
        "proba": Line("--proba", shows("probability of yes")),
        "keep": Line("--keep id", shows("p17")),
        "output": Line("-o other.csv", shows("other.csv")),
        "overwrite": OVERWRITE,
        "quiet": QUIET,
    }),
    "evaluate": ("evaluate {model} {data} --eps 0.4", form("DATA={}") | pays() | {
        "model": Line("MODEL=narrow.json", passes("evaluate", "model", lambda est: est.n_features_in_ == 1)),
        "data": Line("DATA=more.csv", passes("evaluate", "X", lambda X: len(X) == ROWS + 1)),
        "eps": Line("--eps 0.7", passes("evaluate", "eps", 0.7)),
        "target": Line("--target other", passes("evaluate", "y", "other")),
        "thresholds": Line("--threshold 0.3", passes("evaluate", "thresholds", (0.3,))),
        "person": Line("--person id", passes("evaluate", "person", "id")),
        "in_sample": Line("--in-sample", passes("evaluate", "in_sample", True)),
        "neighbouring": Line("--neighbouring add_remove", passes("evaluate", "neighbouring", "add_remove")),
        "n_rows": Line("--n-rows 77", passes("evaluate", "n_rows", 77), "--neighbouring add_remove"),
        "level": Line("--level 0.8", passes("evaluate", "level", 0.8)),
        "output": Line("-o out.csv", shows("measure,estimate")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Privacy statement")),
    }),
    "summary": ("summary {model}", TABLE | {
        "model": Line("MODEL=narrow.json", hides("hours")),
        "columns": Line("--column age", passes("summary", "columns", ["age"])),
        "full": Line("--full", passes("summary", "most", None)),
        "statement": Line("--statement", shows("arithmetic")),
        "output": Line("-o out.tex", shows("tabular")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Wrote"), "-o out.tex"),
    }),
    "plan": ("plan --bounds bounds.toml --n-rows 400 --eps 0.4", promise("plan") | unit("plan", weight=False)
             | form("--target sick --public {}") | {
        "spellings": Line("--missing ?", passes("read_table", "form", lambda form: form.spellings == ("?",)),
                          "--target sick --public public.csv"),
        "n_rows": Line("--n-rows 77", passes("plan", "n_rows", 77)),
        "target": Line("--target sick", WORKS, "--public public.csv"),
        "curve": Line("--curve", passes("plan_curve", "n_rows", 400)),
        "several_rows": Line("--several-rows 100,200", passes("plan_intervals", "n_rows", [100, 200]), "--intervals"),
        "several_eps": Line("--several-eps 1,2", passes("plan_intervals", "eps", [1.0, 2.0]), "--intervals"),
        "intervals": Line("--intervals", passes("plan_intervals", "eps", 0.4)),
        "target_error": Line("--target-error 0.3", passes("plan_target", "target_error", 0.3)),
        "target_width": Line("--target-width 0.2", passes("plan_target", "target_width", 0.2)),
        "html": Line("--html out.html", shows("<html"), "--curve --tables 2"),
        "csv_path": Line("--csv out.csv", shows("Wrote out.csv"), "--curve --tables 2"),
        "signal": simulation("--signal 0.3", "signal", 0.3),
        "positive": simulation("--positive 0.3", "positive", 0.3),
        "sample": Line("--sample public.csv", passes("plan_curve", "assume", lambda a: a.sample and len(a.sample[1]) == 5),
                       "--curve --target sick"),
        "shares": simulation("--shares place=0.3,0.7", "shares", {"place": [0.3, 0.7]}),
        "spread": simulation("--spread age=0.3", "spread", {"age": 0.3}),
        "target_spread": Line("--target-spread 0.3", passes("plan_curve", "assume", lambda a: a.target_spread == 0.3),
                              "--curve --model linear --bounds number.toml"),
        "tables": simulation("--tables 3", "tables", 3),
        "seed": simulation("--seed 9", "seed", 9),
        "overwrite": Line("--overwrite", WORKS, "--curve --tables 2 --csv taken.csv"),
        "ledger_path": Line("--ledger budget.db", shows("Ledger budget.db")),
        "share": Line("--share alice", shows("share alice"), "--ledger budget.db"),
        "fits": Line("--fits 3", passes("cost", "fits", 3), "--ledger budget.db"),
    }),
    "check": ("check {data} --bounds bounds.toml --target sick", form("DATA={}") | {
        "data": Line("DATA=more.csv", passes("check", "X", lambda X: len(X) == ROWS + 1)),
        "target": Line("--target other", passes("check", "y", lambda y: "yes" not in y.to_pylist())),
        "bounds": Line("--bounds narrow.toml", passes("check", "bounds", lambda bounds: len(bounds.columns) == 1)),
        "model": Line("--model svm", passes("check", "model", "svm")),
        "eps": Line("--eps 0.4", passes("expected_table", "parameters", lambda p: p["eps"] == 0.4)),
        "delta": Line("--delta 1e-6", passes("expected_table", "parameters", lambda p: p["delta"] == 1e-6), "--eps 1"),
        "mechanism": Line("--mechanism fm", passes("expected_table", "parameters", lambda p: p["mechanism"] == "fm"),
                          "--eps 1"),
        "aim": Line("--aim coefficients", passes("expected_table", "parameters", lambda p: p["aim"] == "coefficients"),
                    "--eps 1"),
        "person": Line("--person id", passes("check", "person", "id")),
        "rows_per_person": Line("--rows-per-person 3", passes("expected_table", "parameters",
                                                              lambda p: p["rows_per_person"] == 3),
                                "--person id --eps 1"),
        "weight": Line("--weight w", passes("check", "sample_weight", "w"), "--weight-max 4"),
        "weight_max": Line("--weight-max 4", passes("check", "weight_bounds", (0, 4.0)), "--weight w"),
    }),
    "bounds init": ("bounds init {data} -o out.toml", {
        "data": Line("DATA=semicolons.csv", WORKS, "--delimiter ; --target sick"),
        "target": Line("--target sick", shows("[target]")),
        "output": Line("-o other.toml", shows("other.toml")),
        "overwrite": OVERWRITE,
        "encoding": Line("--encoding latin-1", WORKS, "DATA=latin_names.csv"),
        "decimal": Line("--decimal ,", passes("column_types", "form", lambda form: form.decimal == ","), "--delimiter ;"),
        "delimiter": Line("--delimiter ;", shows("features.age"), "DATA=semicolons.csv"),
        "spellings": Line("--missing ?", passes("column_types", "form", lambda form: form.spellings == ("?",))),
    }),
    "bounds learn": ("bounds learn {data} --column age=integer --eps 40 -o out.toml", unit("learn") | {
        "data": Line("DATA=nowhere.csv", shows("nowhere.csv")),
        "eps": Line("--eps 30", passes("learn", "eps", 30.0)),
        "delta": Line("--delta 1e-6", passes("learn", "delta", 1e-6)),
        "columns": Line("--column hours=number", passes("learn", "columns", {"age": "integer", "hours": "number"})),
        "target": Line("--target age", passes("learn", "target", "age")),
        "outside": Line("--outside 0.1", passes("learn", "outside", 0.1)),
        "bounds": Line("--bounds hours.toml", passes("learn", "bounds", lambda bounds: bounds is not None)),
        "neighbouring": Line("--neighbouring add_remove", passes("learn", "neighbouring", "add_remove")),
        "n_rows": Line("--n-rows 77", passes("learn", "n_rows", 77), "--neighbouring add_remove"),
        "large_delta": Line("--large-delta", passes("learn", "large_delta", True), "--delta 0.1"),
        "ledger_path": Line("--ledger large.db", shows("Left in large.db")),
        "share": Line("--share alice", shows("share alice of large.db"), "--ledger large.db"),
        "label": Line("--label wave7", passes("labelled", "label", "wave7"), "--ledger large.db"),
        "output": Line("-o other.toml", shows("other.toml")),
        "overwrite": OVERWRITE,
        "encoding": Line("--encoding latin-1", WORKS, "DATA=latin_names.csv"),
        "decimal": Line("--decimal ,", passes("column_types", "form", lambda form: form.decimal == ","), "--delimiter ;"),
        "delimiter": Line("--delimiter ;", WORKS, "DATA=semicolons.csv"),
        "spellings": Line("--missing ?", passes("column_types", "form", lambda form: form.spellings == ("?",))),
        "quiet": QUIET,
    }),
    "ledger init": ("ledger init {path} --eps 1", {
        "path": Line("PATH=other.db", shows("other.db")),
        "eps": Line("--eps 0.7", passes("Ledger", "eps", 0.7)),
        "delta": Line("--delta 1e-6", passes("Ledger", "delta", 1e-6)),
        "composition": Line("--composition zcdp", passes("Ledger", "composition", "zcdp"), "--delta 1e-6"),
        "neighbouring": Line("--neighbouring add_remove", passes("Ledger", "neighbouring", "add_remove")),
        "strict": Line("--strict", passes("Ledger", "strict", True)),
        "unit": Line("--unit id", passes("Ledger", "unit", "id")),
    }),
    "ledger share": ("ledger share {path} {name} --eps 0.1", {
        "path": Line("PATH=large.db", shows("of large.db")),
        "name": Line("NAME=carla", shows("carla")),
        "eps": Line("--eps 0.2", passes("share", "eps", 0.2)),
        "delta": Line("--delta 1e-7", passes("share", "delta", 1e-7)),
    }),
    "ledger show": ("ledger show {path}", {
        "path": Line("PATH=large.db", shows("large.db")),
        "as_json": Line("--json", shows('"publishable"')),
        "public": Line("--public", hides("For the data holder")),
    }),
    "ledger give-back": ("ledger give-back {path} {number}", {
        "path": Line("PATH=large.db", shows("large.db")),
        "number": Line("NUMBER=2", passes("give_back", "name", 2)),
    }),
    "ledger recover": ("ledger recover {path} {number} -o out.json", {
        "path": Line("PATH=budget.db", shows("entry")),
        "number": Line("NUMBER=2", passes("recover", "name", 2)),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
    }),
    "report": ("report {model} -o out.html", {
        "model": Line("MODEL=narrow.json", hides("hours")),
        "output": Line("-o other.html", shows("other.html")),
        "overwrite": OVERWRITE,
        "title": Line("--title Heading", shows("<title>Heading")),
        "quiet": QUIET,
    }),
    "moments release": ("moments release {data} --bounds columns.toml --eps 0.4 -o out.moments", form("DATA={}")
                        | pays() | {
        "data": Line("DATA=more.csv", passes("release_moments", "X", lambda X: len(X) == ROWS + 1)),
        "bounds": Line("--bounds hours.toml", passes("release_moments", "bounds", lambda b: len(b.columns) == 1)),
        "eps": Line("--eps 0.7", passes("release_moments", "eps", 0.7)),
        "delta": Line("--delta 1e-6", passes("release_moments", "delta", 1e-6)),
        "noise": Line("--noise gaussian", passes("release_moments", "noise", "gaussian"), "--delta 1e-6"),
        "columns": Line("--column age", passes("release_moments", "bounds", lambda bounds: len(bounds.columns) == 1)),
        "important": Line("--importance age=3", passes("release_moments", "importance", {"age": 3.0})),
        "neighbouring": Line("--neighbouring add_remove", passes("release_moments", "neighbouring", "add_remove")),
        "n_rows": Line("--n-rows 77", passes("release_moments", "n_rows", 77), "--neighbouring add_remove"),
        "party": Line("--party north", passes("release_moments", "party", "north")),
        "large_delta": Line("--large-delta", passes("release_moments", "large_delta", True), "--delta 0.1"),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
        "quiet": QUIET,
    }),
    "moments merge": ("moments merge {files} -o out.moments", {
        "files": Line("FILES=nowhere.json", shows("nowhere.json")),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
        "quiet": QUIET,
    }),
    "moments fit": ("moments fit {file} --target age", TABLE | {
        "file": Line("FILE=nowhere.json", shows("nowhere.json")),
        "target": Line("--target hours", passes("regress", "target", "hours")),
        "of_level": Line("--probability-of Bonn", passes("probability", "level", "Bonn"), "--target place"),
        "columns": Line("--column hours", passes("regress", "columns", ["hours"])),
        "l2": Line("--l2 0.25", passes("regress", "l2", 0.25)),
        "variances": Line("--variances largest", passes("regress", "variances", "largest")),
        "model_file": Line("--save out.json", shows("Wrote out.json")),
        "full": Line("--full", passes("to_text", "self")),
        "output": Line("-o out.tex", shows("tabular")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Wrote"), "-o out.tex"),
    }),
    "moments describe": ("moments describe {file}", {
        "file": Line("FILE=nowhere.json", shows("nowhere.json")),
        "full": Line("--full", passes("to_text", "self")),
        "level": Line("--level 0.8", passes("describe", "level", 0.8)),
        "output": Line("-o out.tex", shows("tabular")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Wrote"), "-o out.tex"),
    }),
    "demo": ("demo", {}),
}  # fmt: skip
DEFAULTS = {"data": "people.csv", "model": "model.json", "path": "budget.db", "file": "m.json", "files": "m.json m2.json",
            "name": "bob", "number": "1"}  # fmt: skip
ENTRIES = {
    "fit": "dplr.fit", "plan": "dplr.plan", "evaluate": "dplr.evaluate", "check": "dplr.check",
    "plan_curve": "dplr.plan_curve", "plan_target": "dplr.plan_target", "plan_intervals": "dplr.plan_intervals",
    "release_moments": "dplr.release_moments", "learn": "dplr.quantiles.release.planned", "Ledger": "dplr.Ledger",
    "read_rows": "dplr.cli._fit.read_rows", "expected_table": "dplr.cli._check.expected_table",
    "read_table": "dplr.rows.files.whole.read_table", "column_types": "dplr.rows.files.whole.column_types",
}  # fmt: skip
METHODS = {
    "share": (Ledger, "share"), "labelled": (Ledger, "labelled"), "give_back": (Ledger, "give_back"), "recover": (Ledger, "recover"), "job": (Ledger, "job"),
    "summary": (PrivateLinearModel, "_summary"), "of moments": (dplr.MomentModel, "summary"),
    "regress": (ReleasedMoments, "regress"), "probability": (ReleasedMoments, "probability"),
    "describe": (ReleasedMoments, "describe"), "cost": (dplr.Plan, "cost"), "to_text": (dplr.Summary, "to_text"),
    "table to_text": (dplr.MomentTable, "to_text"),
}  # fmt: skip
OTHER_NAMES = {"of moments": "summary", "table to_text": "to_text"}


class Seen(BaseException):
    """The function was called: the command needs not go on."""


def commands(group=main, path=()):
    """{"ledger init": command} of all commands."""
    if not isinstance(group, click.Group):
        return {" ".join(path): group}
    return {
        name: command for key, each in group.commands.items() for name, command in commands(each, (*path, key)).items()
    }


def people(name, n=ROWS, delimiter=",", change=lambda row: row, encoding="utf-8", header=str):
    rng = np.random.default_rng(0)
    with open(name, "w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([header(column) for column in ("id", "age", "hours", "place", "w", "sick", "other", "amount")])
        for k in range(n):
            age = int(rng.integers(18, 99))
            sick = "yes" if k % 2 else "no"
            writer.writerow(change([f"p{k // 2}", age, rng.integers(0, 160) / 2, "Köln" if k % 3 else "Bonn", 1 + k % 3,
                                    sick, "no", k % 7]))  # fmt: skip


def changed(place, text):
    def change(row):
        row[place] = text if row[0] == "p3" else row[place]
        return row

    return change


def run(words):
    return CliRunner().invoke(main, words)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A folder with all files that the lines name."""
    folder = tmp_path_factory.mktemp("options")
    with contextlib.chdir(folder):
        pathlib.Path("bounds.toml").write_text(BOUNDS, encoding="utf-8")
        features, target = BOUNDS.split("[target]")
        age, hours, place = (f"[features.{part}" for part in features.split("[features.")[1:])
        for name, text in {
            "narrow": f"{age}[target]{target}", "columns": features, "hours": hours,
            "number": f"{features}[target]\nlower = 0\nupper = 10\n",
        }.items():  # fmt: skip
            pathlib.Path(f"{name}.toml").write_text(text, encoding="utf-8")
        people("people.csv")
        people("more.csv", ROWS + 1)
        people("public.csv", 5)
        people("latin.csv", encoding="latin-1")
        people("latin_names.csv", encoding="latin-1", header=lambda name: name.replace("other", "ä"))
        people("semicolons.csv", delimiter=";")
        people("decimal.csv", delimiter=";", change=lambda row: [str(field).replace(".", ",") for field in row])
        people("question.csv", change=changed(1, "?"))
        fit = "fit people.csv --target sick --eps 100 -q --bounds"
        for words in (
            f"{fit} bounds.toml -o model.json", f"{fit} narrow.toml -o narrow.json",
            "fit people.csv --target amount --eps 100 --model linear -q --bounds number.toml -o linear.json",
            "moments release people.csv --bounds columns.toml --eps 90 --party a -q -o m.json",
            "moments release people.csv --bounds columns.toml --eps 90 --party b -q -o m2.json",
            "ledger init budget.db --eps 3 --delta 1e-4", "ledger share budget.db alice --eps 1",
            "ledger init large.db --eps 300 --delta 1e-4", "ledger share large.db alice --eps 100",
            "ledger init kept.db --eps 300",
        ):  # fmt: skip
            result = run(words.split())
            assert result.exit_code == 0, (words, result.output)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dplr.cli._fit.delivered", lambda job: None)
            assert run(f"{fit} bounds.toml --ledger kept.db -o unread.json".split()).exit_code == 0
        for name in ("budget.db", "large.db"):
            for k in range(2):
                statement = dplr.plan(eps=0.1, n_rows=100, n_features=2, mechanism="fm").statement
                dplr.Ledger(name).reserve(statement)
        for name in ("taken.csv", "taken.tex", "taken.html", "taken.toml"):
            pathlib.Path(name).write_text("x")
        shutil.copy("model.json", "taken.json")
        shutil.copy("m.json", "taken.moments")
    return folder


@pytest.fixture
def folder(originals, tmp_path, monkeypatch):
    copy = shutil.copytree(originals, tmp_path / "copy")
    monkeypatch.chdir(copy)
    return copy


def words_of(command, line, without=False):
    """The words of a command with a line, or with what stands beside it alone."""
    base, _ = COMMANDS[command]
    values, ending = dict(DEFAULTS) | AT.get(command, {}), pathlib.Path(base.partition("-o ")[2]).suffix or ".tex"
    words = [] if without else line.typed.split()
    words = [*line.beside.replace("{ending}", ending).split(), *words]
    for word in list(words):
        name, _, value = word.partition("=")
        if name.isupper() and name != "NO":
            values[name.lower()] = value
            words.remove(word)
    dropped = [word[3:] for word in words if word.startswith("NO=")]
    words = [word for word in words if not word.startswith("NO=")]
    start = base.format(**values).split()
    for option in dropped:
        place = start.index(option)
        del start[place : place + 2]
    return [*start, *words]


AT = {"ledger init": {"path": "out.db"}, "ledger recover": {"path": "kept.db"}}


def recorded(monkeypatch, words, until=None):
    """The calls of all functions, by name, with their arguments by name; and the result, if the command ended."""
    calls = []

    def recording(name, plain):
        signature = inspect.signature(plain)

        @functools.wraps(plain)
        def function(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            flat = dict(bound.arguments)
            for kind in signature.parameters.values():
                if kind.kind is inspect.Parameter.VAR_KEYWORD:
                    flat |= flat.pop(kind.name)
            calls.append((name, flat))
            if name == until:
                raise Seen
            return plain(*args, **kwargs)

        return function

    with monkeypatch.context() as patch:
        for name, target in ENTRIES.items():
            owner, attribute = target.rsplit(".", 1)
            plain = functools.reduce(getattr, target.split(".")[1:], dplr) if owner == "dplr" else None
            if plain is None:
                import importlib

                plain = getattr(importlib.import_module(owner), attribute)
            patch.setattr(target, recording(name, plain), raising=False)
        for name, (owner, attribute) in METHODS.items():
            patch.setattr(owner, attribute, recording(OTHER_NAMES.get(name, name), getattr(owner, attribute)))
        try:
            result = run(words)
        except Seen:
            result = None
    return calls, result


def shown(result):
    """What is on the screen, and in files that the command wrote."""
    written = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path().glob("o*.*") if path.suffix != ".db")
    return result.output + written


LINES = [(command, name, line) for command, (_, lines) in COMMANDS.items() for name, line in lines.items()]


BARE = {}  # calls of commands without the option, which many lines share


@pytest.mark.parametrize(
    ("command", "line"), [(c, line) for c, _, line in LINES], ids=[f"{c} {n}" for c, n, _ in LINES]
)
def test_the_option_arrives_where_it_must(command, line, folder, monkeypatch):
    words, kind = words_of(command, line), line.seen[0]
    if kind == "passes":
        _, entry, name, value = line.seen
        calls, result = recorded(monkeypatch, words, entry)
        found = [call[name] for called, call in calls if called == entry]
        assert found, (words, result and result.output)
        assert (value is None) or all(value(each) if callable(value) else each == value for each in found), found
        bare = words_of(command, line, without=True)
        if (*bare, entry) not in BARE:
            calls, _ = recorded(monkeypatch, bare, entry)
            BARE[*bare, entry] = [call for called, call in calls if called == entry]
        before = [call[name] for call in BARE[*bare, entry]]
        assert not before or not all(value(each) if callable(value) else each == value for each in before), before
        return
    before = shutil.copytree(folder, folder.parent / "before")
    result = run(words)
    with_it = shown(result)
    with contextlib.chdir(before):
        other = run(words_of(command, line, without=True))
        without = shown(other)
    if kind == "works":
        assert result.exit_code == 0, (words, with_it)
        assert other.exit_code in (2, 3), without
        return
    with_it, without = (with_it, without) if kind == "shows" else (without, with_it)
    assert line.seen[1] in with_it, with_it
    assert line.seen[1] not in without


def test_every_option_of_every_command_has_a_line():
    there = {name: {option.name for option in command.params} for name, command in commands().items()}
    assert {name: set(lines) for name, (_, lines) in COMMANDS.items()} == there
