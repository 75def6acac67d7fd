"""The documented way through the command line works from end to end."""

import csv
import re

import numpy as np
import pytest
from click.testing import CliRunner

from dplr.cli import main

BOUNDS = """
[features.age]
lower = 17
upper = 90
[features.hours]
lower = 0
upper = 99
[features.work]
levels = ["Private", "State", "Self"]
[target]
classes = ["no", "yes"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """People like those of Adult."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 8_000
    age, hours = rng.integers(17, 91, n), rng.integers(0, 100, n)
    work = rng.choice(["Private", "State", "Self"], n, p=(0.7, 0.2, 0.1))
    income = np.where(age / 20 + hours / 25 + (work == "Self") + rng.logistic(size=n) > 6, "yes", "no")
    (tmp_path / "census.toml").write_text(BOUNDS)
    for name, delimiter in (("people.csv", ","), ("semicolons.csv", ";")):
        with open(name, "w", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerows([("age", "hours", "work", "income"), *zip(age, hours, work, income, strict=True)])
    return tmp_path


def command(text, code=0):
    result = CliRunner().invoke(main, text.split())
    assert result.exit_code == code, (result.output, result.exception)
    return result


FIT = "fit people.csv --target income --bounds census.toml --ledger budget.db"


def test_a_budget_of_the_guide_pays_for_every_kind_of_fit(folder):
    command("check people.csv --target income --bounds census.toml")
    assert command("ledger init budget.db --eps 3 --delta 1e-5").stderr == ""
    command("plan --bounds census.toml --n-rows 8000 --eps 0.8 --ledger budget.db")
    command(f"{FIT} --eps 0.8 -o model.json")
    command("report model.json -o report.html")
    command(f"{FIT} --eps 0.7 --delta 1e-6 --mechanism ngd -o ngd.json")
    command(f"{FIT} --eps 0.7 --delta 1e-6 --mechanism score --aim coefficients -o table.json")
    shown = command("summary table.json").stdout
    assert "age" in shown
    assert "hours" in shown
    command(f"{FIT} --eps 0.7 --delta 1e-6 --mechanism fm --aim coefficients -o moments.json")
    left = float(re.search(r"remaining +eps = ([\d.]+)", command("ledger show budget.db").stdout)[1])
    assert left == pytest.approx(0.1, abs=1e-5)
    command(f"{FIT} --eps 0.7 --delta 1e-6 -o more.json", code=4)


def test_a_ledger_without_a_delta_says_what_it_can_never_pay_for(folder):
    said = command("ledger init budget.db --eps 3").stderr
    assert "never pay for a fit with a --delta" in said
    refused = command(f"{FIT} --eps 0.5 --delta 1e-6 --mechanism ngd -o model.json", code=4).stderr
    assert "whole delta is 1e-12, and its terms never change" in refused
    assert "with a larger delta" in refused
    assert command("ledger init other.db --eps 3 --delta 0").stderr == ""  # asked for


def test_a_file_with_semicolons_is_answered_by_its_delimiter(folder):
    said = command("check semicolons.csv --target income --bounds census.toml", code=3).stderr
    assert "--delimiter ';'" in said
    command("check semicolons.csv --target income --bounds census.toml --delimiter ;")


@pytest.mark.parametrize("rows", [40, 60_000])
def test_a_plan_says_when_noise_drowns_the_fit_and_a_fit_and_a_check_too(folder, rows):
    shown = command(f"plan --bounds census.toml --n-rows {rows} --eps 0.5")
    assert ("Noise drowns this fit" in shown.stdout) is (rows == 40)
    assert "drowns" not in shown.stderr
    if rows == 40:
        lines = (folder / "people.csv").read_text().splitlines()
        (folder / "few.csv").write_text("\n".join(lines[: rows + 1]) + "\n")
        fitted = command("fit few.csv --target income --bounds census.toml --eps 0.5 -o model.json")
        assert fitted.stderr.count("Noise drowns this fit") == 1
        assert fitted.stdout.count("Noise drowns this fit") == 1  # before the fit, and where its result is read
        assert "Noise drowns a fit" in command("check few.csv --target income --bounds census.toml").stdout
