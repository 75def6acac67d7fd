"""``dplr audit`` from the command line."""

import pathlib

import pytest
from click.testing import CliRunner

from dplr.cli import main


@pytest.fixture
def bounds(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text(
        '[features.age]\nlower = 18\nupper = 99\n[features.work]\nlevels = ["no", "yes"]\n[target]\nclasses = [0, 1]\n'
    )
    return str(path)


def run(*arguments):
    return CliRunner().invoke(main, ["audit", *arguments])


def test_it_prints_the_audit(bounds):
    done = run("--bounds", bounds, "--eps", "1", "--mechanism", "fm", "--pairs", "40", "--runs", "40")
    assert done.exit_code == 0, done.output
    assert "Nothing contradicts eps = 1" in done.output
    assert "work = yes" in done.output


@pytest.mark.usefixtures("halved_sensitivity")
def test_a_promise_that_does_not_hold_ends_with_1(bounds):
    pathlib.Path(bounds).write_text("[features.age]\nlower = 18\nupper = 99\n[target]\nclasses = [0, 1]\n")
    done = run("--bounds", bounds, "--eps", "1", "--mechanism", "fm", "--pairs", "40", "--runs", "20")
    assert done.exit_code == 1
    assert "WRONG: eps = 1 does not hold" in done.output


def test_half_of_a_weight_is_refused(bounds):
    assert run("--bounds", bounds, "--eps", "1", "--weight", "w").exit_code == 2
