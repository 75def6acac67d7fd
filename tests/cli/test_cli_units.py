"""Persons and weights on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main

BOUNDS = """
[features.age]
lower = 18
upper = 99
[features.hours]
lower = 0
upper = 80
[target]
classes = ["no", "yes"]
"""
IN_FILE = 'person = "id"\nrows_per_person = 2\nweight = { column = "w", max = 200 }\n'
ROWS, PERSONS = 600, 150
COMMON = ("--target", "sick", "--bounds", "bounds.toml")
FIT = ("fit", "people.csv", *COMMON, "--eps", "0.5", "--mechanism", "fm", "-o", "model.json", "--overwrite")
NUMBERS = "rows_per_person = 2\nweight = { max = 200 }\n"
UNITS = ("--person", "id", "--weight", "w")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    people().to_csv("people.csv", index=False)
    return tmp_path


def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 100, ROWS), "hours": rng.integers(0, 80, ROWS)})
    frame["sick"] = np.where(frame["age"] > 60, "yes", "no")
    frame["id"] = [f"{k % PERSONS:04}" for k in range(ROWS)]
    frame["w"] = rng.uniform(0, 150, ROWS)
    return frame


def command(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.stderr
    return result


def unit():
    return json.loads(open("model.json", encoding="utf-8").read())["model"]["statement"].get("unit")


def test_options_and_the_bounds_file_say_the_same(folder):
    (folder / "bounds.toml").write_text(NUMBERS + BOUNDS)
    said = command(*FIT, *UNITS).stdout
    by_options = unit()
    assert "One person with all their rows" in " ".join(said.split())
    (folder / "bounds.toml").write_text(IN_FILE + BOUNDS)
    assert dplr.Bounds.from_toml("bounds.toml").rows_per_person == 2
    command(*FIT)
    assert unit() == by_options
    assert by_options == {"person": "id", "rows_per_person": 2, "weight_max": 200.0, "class_weights": []}
    assert dplr.load_model("model.json").privacy_.assumptions.count(f"the number of persons = {PERSONS}") == 1
    for contradiction in (("--person", "household"), ("--weight", "v")):
        assert "as the bounds say" in command(*FIT, *contradiction, code=2).stderr
    command("predict", "model.json", "people.csv", "--keep", "id", "-o", "predicted.csv")
    kept = pd.read_csv("predicted.csv", dtype=str)["id"]
    assert kept.tolist() == people()["id"].tolist()


def test_ids_are_text_as_it_is_written(folder):
    frame = people()
    frame["id"] = np.where(np.arange(ROWS) % 2, "01", "1")
    frame.to_csv("people.csv", index=False)
    command(*FIT, "--person", "id")
    assert "the number of persons = 2" in dplr.load_model("model.json").privacy_.assumptions


def test_plan_prints_the_unit_and_noise_over_persons(folder):
    (folder / "bounds.toml").write_text(NUMBERS + BOUNDS)
    said = " ".join(command("plan", "--bounds", "bounds.toml", "--n-rows", PERSONS, "--eps", 0.5, *UNITS[:2],
                            "--mechanism", "fm").stdout.split())  # fmt: skip
    assert "each of m rows counts min(1, 2/m), divided by 2" in said
    assert "weights are clipped to [0, 200]" in said
    assert "over the number of persons" in said


def test_check_counts_persons_and_shows_no_id(folder):
    frame = people()
    frame.loc[[0, 1], "id"] = ["x1", "X1 "]
    frame.to_csv("people.csv", index=False)
    (folder / "bounds.toml").write_text("weight = { max = 100 }\n" + BOUNDS)
    said = command("check", "people.csv", *COMMON, "--person", "id", "--weight", "w").stdout
    assert "152 persons, with 4 rows at the median and 4 at most" in said
    assert "person: 2 ids differ from another one in nothing but how they are written" in said
    assert "of the weights are above the cap 100 and were clipped" in said
    assert "x1" not in said.lower()
    frame["id"] = frame["id"].where(np.arange(ROWS) > 2, "")
    frame.to_csv("people.csv", index=False)
    (folder / "bounds.toml").write_text(BOUNDS)
    refused = command("check", "people.csv", *COMMON, "--person", "id", code=3)
    assert "3 of 600 rows" in refused.stdout
    command(*FIT, "--person", "id", code=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "w"), "`weight_max` is required with sample_weight"),
        (("--person", "sick"), "`sick` is the target, and must not hold ids or weights too"),
        (("--person", "name"), "must have a column for name"),
        (("--person", "age"), "must not name the column of ids or weights"),
        (("--person", "id", "--n-rows", "600"), "`--n-rows` must be left out, or 150"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(folder, options, message):
    result = CliRunner().invoke(main, [*FIT, *options])
    assert result.exit_code in (2, 3), result.output
    assert message in result.stderr
    assert not (folder / "model.json").exists()


def test_a_ledger_of_persons_pays_for_persons(folder):
    command("ledger", "init", "budget.db", "--eps", "1", "--unit", "id")
    refused = command(*FIT, "--ledger", "budget.db", code=2)
    assert "`person` must be 'id'" in refused.stderr
    command(*FIT, "--ledger", "budget.db", "--person", "id")
    assert dplr.Ledger("budget.db").remaining()[0] == 0.5
