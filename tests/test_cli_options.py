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

import click
import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.estimators._base import PrivateLinearModel
from dplr.ledger.handle import Ledger
from dplr.moments.released import ReleasedMoments
from typed_options import AT, COMMANDS, DEFAULTS, ROWS

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


ENTRIES = {
    "fit": "dplr.fit", "plan": "dplr.plan", "evaluate": "dplr.evaluate", "check": "dplr.check", "audit": "dplr.audit",
    "plan_curve": "dplr.plan_curve", "plan_target": "dplr.plan_target",
    "release_moments": "dplr.release_moments", "learn": "dplr.quantiles.release.planned", "Ledger": "dplr.Ledger",
    "read_rows": "dplr.cli._fit.read_rows", "expected_table": "dplr.cli._check.expected_table",
    "read_table": "dplr.rows.files.whole.read_table", "column_types": "dplr.rows.files.whole.column_types",
}  # fmt: skip
METHODS = {
    "share": (Ledger, "share"), "labelled": (Ledger, "labelled"), "give_back": (Ledger, "give_back"),
    "recover": (Ledger, "recover"),
    "summary": (PrivateLinearModel, "_summary"), "of moments": (dplr.results.MomentModel, "summary"),
    "regress": (ReleasedMoments, "regress"), "probability": (ReleasedMoments, "probability"),
    "describe": (ReleasedMoments, "describe"), "cost": (dplr.results.Plan, "cost"),
    "to_text": (dplr.results.Summary, "to_text"),
    "table to_text": (dplr.results.MomentTable, "to_text"),
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
        age, hours, _ = (f"[features.{part}" for part in features.split("[features.")[1:])
        for name, text in {
            "narrow": f"{age}[target]{target}", "columns": features, "hours": hours,
            "capped": f"weight = {{ max = 4 }}\n{features}[target]{target}",
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
            patch.setattr(Ledger, "delivered", lambda *_: None)
            assert run(f"{fit} bounds.toml --ledger kept.db -o unread.json".split()).exit_code == 0
        for name in ("budget.db", "large.db"):
            for _ in range(2):
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


@pytest.mark.parametrize(("command", "name", "line"), LINES, ids=[f"{command} {name}" for command, name, _ in LINES])
def test_the_option_arrives_where_it_must(command, name, line, folder, monkeypatch):
    words, kind = words_of(command, line), line.seen[0]
    if kind == "passes":
        _, entry, parameter, value = line.seen
        calls, result = recorded(monkeypatch, words, entry)
        found = [call[parameter] for called, call in calls if called == entry]
        assert found, (words, result and result.output)
        assert (value is None) or all(value(each) if callable(value) else each == value for each in found), found
        bare = words_of(command, line, without=True)
        if (*bare, entry) not in BARE:
            calls, _ = recorded(monkeypatch, bare, entry)
            BARE[*bare, entry] = [call for called, call in calls if called == entry]
        before = [call[parameter] for call in BARE[*bare, entry]]
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
