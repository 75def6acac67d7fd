"""``dplr audit`` from the command line."""

import pathlib

import pytest
from click.testing import CliRunner

from dplr.cli import main

pytest.importorskip("matplotlib")


@pytest.fixture
def bounds(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text(
        '[features.age]\nlower = 18\nupper = 99\n[features.work]\nlevels = ["no", "yes"]\n[target]\nclasses = [0, 1]\n'
    )
    return str(path)


def run(*arguments):
    return CliRunner().invoke(main, ["audit", *arguments])


def test_it_prints_the_audit_and_draws_it(bounds, tmp_path):
    picture = tmp_path / "audit.svg"
    done = run(
        "--bounds", bounds, "--eps", "1", "--mechanism", "fm", "--pairs", "40", "--runs", "40", "--plot", str(picture)
    )
    assert done.exit_code == 0, done.output
    assert "Nothing contradicts eps = 1" in done.output
    assert "work = yes" in done.output
    assert picture.read_text().lstrip().startswith("<?xml")
    again = run("--bounds", bounds, "--eps", "1", "--plot", str(picture))
    assert again.exit_code == 2


@pytest.mark.usefixtures("halved_sensitivity")
def test_a_promise_that_does_not_hold_ends_with_1(bounds):
    pathlib.Path(bounds).write_text("[features.age]\nlower = 18\nupper = 99\n[target]\nclasses = [0, 1]\n")
    done = run("--bounds", bounds, "--eps", "1", "--mechanism", "fm", "--pairs", "40", "--runs", "20")
    assert done.exit_code == 1
    assert "WRONG: eps = 1 does not hold" in done.output


def test_half_of_a_weight_is_refused(bounds):
    assert run("--bounds", bounds, "--eps", "1", "--weight", "w").exit_code == 2


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_audit(bounds, tmp_path, monkeypatch):
    monkeypatch.setattr("dplr.audit", lambda **_: pytest.fail("the audit ran"), raising=False)
    for name in ("audit.bmp", "audit", "audit.svgz"):
        done = run("--bounds", bounds, "--eps", "1", "--plot", str(tmp_path / name))
        assert done.exit_code == 2
        assert "`--plot` must end with .png, .svg or .pdf" in done.output
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = run("--bounds", bounds, "--eps", "1", "--plot", str(tmp_path / "audit.PNG"))
    assert done.exit_code == 2
    assert "pip install" in done.output
