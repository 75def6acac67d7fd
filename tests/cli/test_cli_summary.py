"""`dplr summary`: what it prints and writes, and what it refuses."""

import json
import pathlib

import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from paid_people import BOUNDS, TARGET, people


def command(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, pay = people()
    for mechanism in ("fm", "objective"):
        bounds = dplr.Bounds(BOUNDS, target=TARGET)
        est = dplr.fit(table, pay, model="linear", mechanism=mechanism, eps=5.0, bounds=bounds)
        dplr.save_model(est, f"{mechanism}.json")
    return tmp_path


def test_the_table_of_a_model_file_is_that_of_the_model(folder):
    shown = command("summary", "fm.json").stdout
    assert shown == f"{dplr.load_model('fm.json').summary()}\n"
    whole = command("summary", "fm.json", "--full").stdout
    assert whole == f"{dplr.load_model('fm.json').summary().to_text()}\n"
    fewer = command("summary", "fm.json", "--column", "age", "--column", "work", "--level", "0.9", "--joint").stdout
    assert "hours" not in fewer
    assert "90 % joint interval" in fewer


def test_the_name_of_the_output_says_the_form_of_the_table(folder):
    table = dplr.load_model("fm.json").summary()
    forms = {
        "csv": table.to_csv(),
        "tex": table.to_latex(),
        "html": table.to_html() + "\n",
        "txt": f"{table.to_text()}\n",
    }
    for ending, text in forms.items():
        assert command("summary", "fm.json", "-o", f"table.{ending}").stdout == ""
        assert pathlib.Path(f"table.{ending}").read_text(encoding="utf-8") == text
    command("summary", "fm.json", "-o", "table.json")
    assert json.loads(pathlib.Path("table.json").read_text())["lines"][0]["name"] == "age"


def test_a_model_without_intervals_has_a_table_that_says_why_and_refuses_their_options(folder):
    shown = command("summary", "objective.json").stdout
    assert shown == f"{dplr.load_model('objective.json').summary()}\n"
    assert "No intervals: the coefficients alone do not say" in shown
    command("summary", "objective.json", "-o", "table.csv")
    assert len(pathlib.Path("table.csv").read_text().splitlines()) == 6
    for option in (["--joint"], ["--level", "0.9"], ["--effect-bound", "2"], ["--column", "age"]):
        assert "confidence intervals" in command("summary", "objective.json", *option, code=2).stderr


def test_the_full_statement_is_printed_where_it_is_asked_for(folder):
    for name in ("fm", "objective"):
        statement = dplr.load_model(f"{name}.json").privacy_
        assert command("summary", f"{name}.json", "--statement").stdout == f"{statement}\n"


def test_what_cannot_be_written_is_refused(folder):
    assert "must be names" in command("summary", "fm.json", "--column", "wrong", code=2).stderr
    assert "must end in" in command("summary", "fm.json", "-o", "table.xlsx", code=2).stderr
    command("summary", "fm.json", "-o", "table.txt")
    assert "exists" in command("summary", "fm.json", "-o", "table.txt", code=2).stderr
    command("summary", "fm.json", "-o", "table.txt", "--overwrite")
