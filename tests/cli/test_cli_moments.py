"""``dplr moments``: a file is released and paid for, merged, and fitted for nothing; what is wrong costs nothing."""

import csv
import json
import pathlib

import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main

BOUNDS = """
[features.age]
lower = 18
upper = 99
[features."a, b"]
lower = 0
upper = 10
[features.sex]
levels = ["F", "M"]
binary = true
[features.code]
levels = [1, 2, 3]
[features.income]
lower = 0
upper = 60000
"""
RELEASE = (
    "moments",
    "release",
    "people.csv",
    "--bounds",
    "bounds.toml",
    "--eps",
    "2",
    "--delta",
    "1e-6",
    "-o",
    "m.json",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("bounds.toml").write_text(BOUNDS)
    for seed, name in enumerate(("people.csv", "others.csv")):
        write_people(name, seed)
    return tmp_path


def write_people(path, seed, n=3000):
    rng = np.random.default_rng(seed)
    age, other = rng.integers(18, 99, n), rng.uniform(0, 10, n)
    income = 300 * age + 1000 * other + rng.normal(0, 3000, n)
    columns = {"age": age, "a, b": other, "sex": rng.choice(["F", "M"], n), "code": rng.integers(1, 4, n)}
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "income", "id"])
        writer.writerows(zip(*columns.values(), income, range(n), strict=True))


def command(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.stderr
    return result


def test_a_release_is_written_and_paid_for(folder):
    command("ledger", "init", "budget.db", "--eps", "3", "--delta", "1e-5")
    result = command(*RELEASE, "--ledger", "budget.db", "--party", "north", "--label", "wave 1")
    released = dplr.load_model("m.json")
    assert result.stdout.startswith(str(released.privacy_) + "\nWrote m.json.\nLeft in budget.db: eps = 1")
    assert released.parties[0].name == "north"
    assert dplr.Ledger("budget.db").entries()[0].label == "wave 1"
    assert "No --ledger was given" in command(*RELEASE, "--overwrite").stderr


def test_files_of_two_parties_are_merged_and_fitted(folder):
    command(*RELEASE, "-q")
    command(*["others.csv" if each == "people.csv" else each for each in RELEASE[:-1]], "o.json", "-q")
    said = command("moments", "merge", "m.json", "o.json", "-o", "all.json").stdout
    assert "every person is in the rows of one party only" in said
    assert dplr.load_model("all.json").n_rows == 6000
    table = command("moments", "fit", "all.json", "--target", "income", "--column", "age", "--column", "a, b").stdout
    expected = dplr.load_model("all.json").regress("income", ["age", "a, b"]).summary()
    assert table == f"{expected}\n"
    command("moments", "fit", "all.json", "--target", "income", "--columns", "age,sex,code", "-o", "t.json")
    names = [line["name"] for line in json.loads(pathlib.Path("t.json").read_text())["lines"]]
    assert names == ["age", "sex=M", "code=2", "code=3", "(intercept)"]


@pytest.mark.parametrize(("target", "level"), [("sex", "F"), ("code", "2")])
def test_the_probability_of_a_level_is_asked_for_by_its_text(folder, target, level):
    command(*RELEASE, "-q")
    given = ("moments", "fit", "m.json", "--target", target, "--column", "age", "--level", "0.9")
    table = command(*given, "--probability-of", level, "--l2", "cv").stdout
    assert f": {target}={level}, n " in table
    assert "90 % interval" in table
    assert "not log odds" in " ".join(table.split())


def test_chosen_columns_are_released_and_no_others_read(folder):
    command(*RELEASE, "--column", "age", "--column", "income")
    assert dplr.load_model("m.json").columns == ("age", "income")


REFUSED = [
    (("--eps", "9"), 4, "has no room for it. Nothing was spent"),
    (("--delta", "0.01"), 2, "`delta` must be below 1/n"),
    (("--n-rows", "7"), 2, "`n_rows` must be len"),
    (("--column", "agee"), 2, "`columns` must name columns of the bounds"),
    (("--party", "a\nb"), 3, "`party` must be None or a name"),
    (("-o", "people.csv", "--overwrite"), 2, "input of this command"),
    (("-o", "bounds.json"), 2, "exists"),
    (("--encoding", "utf-16"), 2, "encoding"),
    (("--bounds", "target.toml"), 3, "must have no target of its own"),
    (("--bounds", "absent.toml"), 3, "must have a column for"),
]


@pytest.mark.parametrize(("given", "code", "said"), REFUSED)
def test_what_is_wrong_costs_nothing(folder, given, code, said):
    command("ledger", "init", "budget.db", "--eps", "3", "--delta", "1e-1")
    pathlib.Path("bounds.json").write_text("mine")
    pathlib.Path("target.toml").write_text(BOUNDS + "[target]\nlower = 0\nupper = 1\n")
    pathlib.Path("absent.toml").write_text(BOUNDS.replace("age", "years"))
    result = command(*RELEASE, "--ledger", "budget.db", *given, code=code)
    assert said in " ".join(result.stderr.split())
    assert dplr.Ledger("budget.db").spent()[0] == 0
    assert pathlib.Path("bounds.json").read_text() == "mine"


def test_bad_fits_and_merges_are_refused(folder):
    command(*RELEASE, "-q")
    fit = ("moments", "fit", "m.json", "--target")
    for given, code, said in (
        ((*fit, "incom"), 2, "Did you mean 'income'"),
        ((*fit, "sex"), 0, ""),
        ((*fit, "code"), 2, "must be a number"),
        ((*fit, "code", "--probability-of", "9"), 2, "`level` must be one of"),
        ((*fit, "income", "--l2", "best"), 2, "`l2` must be one of"),
        ((*fit, "income", "-o", "t.docx"), 2, "must end in"),
        (("moments", "fit", "bounds.toml", "--target", "x"), 3, "complete JSON"),
        (("moments", "merge", "m.json", "m.json", "-o", "all.json"), 2, "must not be merged with itself"),
    ):
        assert said in command(*given, code=code).stderr
    assert not pathlib.Path("all.json").exists()


def test_a_release_that_cannot_be_written_is_not_lost(folder, monkeypatch):
    def broken(self, path):
        raise OSError("disk full")

    monkeypatch.setattr(dplr.results.ReleasedMoments, "save", broken)
    result = command(*RELEASE, code=3)
    assert "The release is on standard output" in result.stderr
    pathlib.Path("kept.json").write_text(result.stdout)
    assert dplr.load_model("kept.json").n_rows == 3000
