"""`dplr plan --curve` and targets: what is printed and written, and what is refused before anything is simulated."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main

BOUNDS = """
[features.age]
lower = 18
upper = 99
[features.work]
levels = ["a", "b"]
[target]
classes = ["no", "yes"]
"""
PLAN = ("plan", "--bounds", "bounds.toml", "--tables", "2", "--mechanism", "fm")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(18, 99)},{'ab'[k % 2]},{('no', 'yes')[k % 2]}" for k in range(90)]
    (tmp_path / "public.csv").write_text("\n".join(["age,work,sick", *lines]))
    return tmp_path


def command(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_a_curve_is_printed_and_its_figures_are_written(folder):
    done = command(*PLAN, "--n-rows", "400", "--eps", "0.3", "--curve", "--csv", "a.csv")
    known = dplr.Bounds.from_toml("bounds.toml")
    options = {"n_rows": 400, "eps": 0.3, "mechanism": "fm", "assume": dplr.planner.Assumptions(tables=2)}
    curve = dplr.plan_curve(bounds=known, **options)
    assert str(curve) in done.stdout
    assert (folder / "a.csv").read_text() == curve.csv_text()
    assert len(list(csv.DictReader((folder / "a.csv").open()))) == len(curve.points)
    assert "exists" in command(*PLAN, "--n-rows", "400", "--curve", "--csv", "a.csv", code=2).stderr
    command(*PLAN, "--n-rows", "400", "--curve", "--csv", "a.csv", "--overwrite", "--eps", "1")


def test_a_target_has_the_answer_of_the_library():
    known = dplr.Bounds.from_toml("bounds.toml")
    assume = dplr.planner.Assumptions(tables=2, signal=0.6, positive=0.3, seed=2)
    wanted = dplr.plan_target(bounds=known, n_rows=900, mechanism="fm", error=0.28, assume=assume)
    guesses = ("--signal", "0.6", "--positive", "0.3", "--seed", "2")
    assert str(wanted) in command(*PLAN, *guesses, "--n-rows", "900", "--target-error", "0.28").stdout
    wide = dplr.plan_target(
        bounds=known, n_rows=900, mechanism="fm", width={"age": 0.1}, assume=dplr.planner.Assumptions(tables=2)
    )
    assert str(wide) in command(*PLAN, "--n-rows", "900", "--target-width", "age=0.1").stdout


def test_a_sample_is_read_and_named():
    done = command(*PLAN, "--n-rows", "400", "--curve", "--sample", "public.csv", "--target", "sick", "--eps", "1")
    assert "like the 90 public rows" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "`--eps` is required without --curve"),
        (("--eps", "1", "--csv", "a.csv"), "`--csv` is of a simulation"),
        (("--eps", "1", "--signal", "0.2"), "`--signal` is of a simulation"),
        (("--target-error", "0.3", "--csv", "a.csv"), "is of --curve"),
        (("--curve", "--target-error", "0.3"), "exclude each other"),
        (("--curve", "--ledger", "bounds.toml"), "`--ledger` is of one plan"),
        (("--curve", "--sample", "public.csv"), "`--target` is required with --sample"),
        (("--target-width", "age"), "must be NAME=WIDTH"),
        (("--target-width", "1", "--target-width", "age=1"), "must have a NAME for each"),
        (("--target-error", "0.01",), "`error` must be reached"),
        (("--curve", "--csv", "none/a.csv"), "cannot be written"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(options, said):
    plan = [each for each in PLAN if each not in ("--tables", "2")] if "--eps" in options or not options else PLAN
    assert said in command(*plan, "--n-rows", "400", *options, code=2).stderr


def test_the_number_of_rows_is_required_for_a_curve_alone():
    assert "--n-rows" in command(*PLAN, "--curve", code=2).stderr
    assert "Smallest number of rows" in command(*PLAN, "--eps", "1", "--target-error", "0.4").stdout


def test_intervals_answer_for_a_width_and_take_lists_shares_and_spreads(folder):
    (folder / "numbers.toml").write_text(BOUNDS.replace('classes = ["no", "yes"]', "lower = 0\nupper = 10"))
    numbers = ("plan", "--bounds", "numbers.toml", "--tables", "2", "--mechanism", "fm", "--model", "linear")
    guesses = ("--shares", "work=b:0.1", "--spread", "age=0.3,0.1", "--target-spread", "0.1")
    assume = dplr.planner.Assumptions(
        tables=2, shares={"work": {"b": 0.1}}, spread={"age": [0.3, 0.1]}, target_spread=0.1
    )
    options = {"bounds": "numbers.toml", "model": "linear", "mechanism": "fm", "assume": assume}
    table = dplr.plan_curve(eps=[0.5, 1], n_rows=[9000], intervals=True, **options)
    asked = ("--intervals", "--several-eps", "0.5,1", "--several-rows", "9000")
    assert str(table) in command(*numbers, *guesses, *asked).stdout
    easy = dplr.plan_target(n_rows=9000, interval={"age": 1e6}, **options)
    assert (
        str(easy) in command(*numbers, *guesses, "--intervals", "--n-rows", "9000", "--target-width", "age=1e6").stdout
    )
    for wrong, said in (
        (("--several-eps", "1"), "is of --intervals"),
        (("--intervals", "--several-eps", "1;2"), "must be numbers"),
        (("--intervals", "--target-error", "1"), "exclude each other"),
        (("--intervals", "--shares", "work=many"), "must be NAME=NUMBER"),
    ):
        assert said in command(*numbers, "--n-rows", "900", *wrong, code=2).stderr
