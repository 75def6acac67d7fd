"""`dplr evaluate`: a table on standard output, a ledger that pays, and faults that cost nothing."""

import csv
import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main

BOUNDS = {"age": (18, 90), "kind": {"levels": ["a", "b"]}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, 4000), "kind": rng.choice(["a", "b"], 4000)})
    frame["y"] = np.where(rng.random(4000) < (frame["age"] - 18) / 72, "yes", "no")
    frame["who"] = [f"p{row // 2}" for row in range(4000)]
    bounds = dplr.Bounds(BOUNDS, target=["no", "yes"])
    with pytest.warns(dplr.PrivacyWarning, match="rng"):
        model = dplr.fit(frame[["age", "kind"]][:2000], frame["y"][:2000], bounds=bounds, eps=2.0, rng=1)
    model.save("model.json") if hasattr(model, "save") else dplr.save_model(model, "model.json")
    frame[2000:].to_csv("test.csv", index=False)
    dplr.Ledger("budget.db", eps=1.0)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["evaluate", "model.json", "test.csv", *arguments])


def test_the_table_and_the_statement_are_printed_and_the_ledger_pays(folder):
    result = run("--eps", "0.4", "--ledger", "budget.db", "--threshold", "0.2", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    assert "auc" in result.output
    assert "pure eps-differential privacy, eps = 0.4" in result.output
    assert "Left in budget.db: eps = 0.6" in result.output
    rows = list(csv.DictReader((folder / "out.csv").open()))
    assert {row["measure"] for row in rows} >= {"auc", "accuracy", "log_loss"}
    assert all(float(row["lower"]) <= float(row["estimate"]) <= float(row["upper"]) for row in rows
               if not math.isnan(float(row["estimate"])))  # fmt: skip


def test_persons_are_protected_together(folder):
    result = run("--eps", "1", "--person", "who", "--in-sample")
    assert result.exit_code == 0, result.output
    assert "the number of persons = 1000" in result.output
    assert "IN SAMPLE" in result.output


def test_faults_cost_nothing(folder):
    frame = pd.read_csv("test.csv")
    frame.loc[3, "y"] = "maybe"
    frame.to_csv("test.csv", index=False)
    for arguments, code in ((("--target", "age"), 2), (("--target", "nothing"), 3), ((), 3)):
        result = run("--eps", "0.5", "--ledger", "budget.db", *arguments)
        assert result.exit_code == code, result.output
    assert dplr.Ledger("budget.db").remaining()[0] == 1.0
    frame[frame["y"] != "maybe"].to_csv("test.csv", index=False)
    assert run("--eps", "1.5", "--ledger", "budget.db").exit_code == 4
