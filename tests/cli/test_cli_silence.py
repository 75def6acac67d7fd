"""What a table will be silent about is said before anything is paid, from public facts alone."""

import pathlib

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
[features.race]
levels = ["w", "x", "y", "z"]
least_share = 0.004
[target]
lower = 0
upper = 100
"""
DATA = ("--target", "pay", "--bounds", "bounds.toml", "--model", "linear")
BASIS = "This is simulated from the bounds and other public facts: no row was read."
SILENT = "Expected to say nothing in any case"


def people(n=8000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 99, n)
    return pd.DataFrame({"age": age, "race": rng.choice(list("wxyz"), n), "pay": age * rng.random() / 2})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("bounds.toml").write_text(BOUNDS)
    people().to_csv("people.csv", index=False)
    people(seed=1).to_csv("others.csv", index=False)
    command("ledger", "init", "budget.db", "--eps", "9", "--delta", "1e-3")


def command(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def fit(eps, *more, data="people.csv", code=0):
    return command(
        "fit", data, *DATA, "--eps", eps, "-o", "m.json", "--ledger", "budget.db", "--overwrite", *more, code=code
    )


def spent():
    return dplr.Ledger("budget.db").spent()[0]


def test_a_fit_for_its_table_warns_before_it_pays_of_lines_that_may_be_silent(folder, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dplr.estimators._base.release", stopped)
    said = [fit(1, "--aim", "coefficients", data=data, code=130).stderr for data in ("people.csv", "others.csv")]
    (warning,) = {next(line for line in text.splitlines() if "say nothing" in line) for text in said}
    assert "May say nothing: age" in warning
    assert (
        "`age` has bounds 81 wide; at 40.5 wide, or with a deviation of 6% of them, its line would speak. " in warning
    )
    assert warning.endswith(BASIS)
    assert spent() == 0


def test_a_fit_whose_table_will_say_nothing_is_refused_before_it_is_paid(folder):
    refused = fit(0.01, "--aim", "coefficients", code=2)
    assert f"Error: the table would say nothing. {SILENT}: age, race=x" in refused.stderr
    assert "Nothing was spent." in refused.stderr
    assert spent() == 0
    assert not pathlib.Path("m.json").exists()
    said = fit(0.01, "--mechanism", "fm")  # whoever names a mechanism wants its numbers
    assert "say nothing" not in said.stderr
    assert spent() == 0.01


def test_a_check_says_it_where_an_eps_is_given(folder):
    plain = command("check", "people.csv", *DATA).stdout
    table = command("check", "people.csv", *DATA, "--eps", 1, "--aim", "coefficients").stdout
    assert table.startswith(plain)
    assert "May say nothing: age" in table[len(plain) :]
    assert BASIS in table
    loud = command("check", "people.csv", *DATA, "--eps", 1000, "--mechanism", "fm").stdout
    assert "expected to speak, if numbers have a deviation of 3% of their bounds or more." in loud
    other = command("check", "people.csv", *DATA, "--eps", 1, "--mechanism", "objective").stdout
    assert "A fit with these options has no confidence intervals: `--aim coefficients` asks for them." in other
    assert "`--eps` is required with" in command("check", "people.csv", *DATA, "--delta", 1e-6, code=2).stderr


def test_with_public_rows_nothing_is_simulated(folder):
    said = fit(0.01, "--aim", "coefficients", "--public", "others.csv")
    assert "the table would say nothing" not in said.stderr
    assert spent() == 0.01
