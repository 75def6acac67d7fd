"""Commands that were killed: ledger give-back, ledger recover, and what is said of them."""

import os
import signal

import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import _fit, main
from dplr.ledger import keeping
from dplr.ledger.handle import Ledger
from dplr.ledger.reservation import FileReservation
from dplr.noise import Source

FIT = ("fit", "people.csv", "--target", "sick", "--bounds", "bounds.toml", "--eps", "0.5", "-o", "model.json",
       "--ledger", "budget.db", "--mechanism", "fm")  # fmt: skip


def write_people():
    age = np.random.default_rng(0).integers(18, 99, 300)
    rows = [f"{value},{'yes' if value > 60 else 'no'}" for value in age]
    with open("people.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(["age,sick", *rows, ""]))


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bounds.toml").write_text('[features.age]\nlower = 18\nupper = 99\n[target]\nclasses = ["no", "yes"]\n')
    write_people()
    return Ledger("budget.db", eps=1.0)


def command(*arguments, code=0):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code, result.output
    return result.output


def states(ledger):
    return [entry.state for entry in ledger.entries()]


def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(owner, name):
    """The command in a process of its own, which dies where that is called."""
    pid = os.fork()
    if pid == 0:
        try:
            setattr(owner, name, property(dies) if name == "_sampler" else dies)
            CliRunner().invoke(main, FIT)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_a_command_that_was_killed_before_its_noise_is_given_back(ledger):
    killed_at(Source, "_sampler")
    assert "`dplr ledger give-back` gives it back" in command("ledger", "show", "budget.db")
    assert "Entry 1 of budget.db given back" in command("ledger", "give-back", "budget.db", "1")
    assert "Left in budget.db: eps = 0.5" in command(*FIT)
    assert (states(ledger), ledger.kept()) == (["refunded", "committed"], [])


def test_a_command_that_was_killed_after_its_noise_stays_spent(ledger):
    killed_at(FileReservation, "commit")
    assert "its noise may have been drawn" in command("ledger", "give-back", "budget.db", "1", code=2)
    assert "must have a release that is kept" in command("ledger", "recover", "budget.db", "1", "-o", "m", code=2)
    assert states(ledger) == ["drawing"]


def test_a_command_that_was_killed_before_its_file_was_written_loses_nothing(ledger):
    killed_at(_fit, "_save")
    assert not os.path.exists("model.json")
    assert "Kept: the model of entry 1" in command("ledger", "show", "budget.db")
    assert "Kept" not in command("ledger", "show", "budget.db", "--public")
    assert "Wrote model.json" in command("ledger", "recover", "budget.db", "1", "-o", "model.json")
    est = dplr.load_model("model.json")
    assert (est.privacy_.eps, est.target_name_) == (0.5, "sick")
    assert (states(ledger), ledger.kept(), ledger.spent()[0]) == (["committed"], [], 0.5)


def test_what_is_kept_is_what_the_command_writes(ledger, monkeypatch):
    monkeypatch.setattr(Ledger, "delivered", lambda *_: None)
    command(*FIT)
    with open("model.json", "rb") as file:
        assert ledger.recover(1) == file.read()


def test_a_model_that_could_not_be_written_stays_in_the_ledger(ledger, monkeypatch):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(dplr, "save_model", full)
    command(*FIT, code=3)
    assert (states(ledger), ledger.kept()) == (["committed"], [1])


@pytest.mark.parametrize(
    ("where", "said", "left"),
    [
        ("reserve", "Nothing was released, and nothing was spent", []),
        ("_sampler", "Nothing was released, and nothing was spent", ["refunded"]),
        ("commit", "Noise may have been drawn, so its cost stays spent: entry 1", ["drawing"]),
        ("after", "Its model is paid for and kept: entry 1", ["committed"]),
    ],
)
def test_an_interrupt_says_what_it_leaves(ledger, monkeypatch, where, said, left):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    commit = FileReservation.commit
    if where == "reserve":
        monkeypatch.setattr(keeping, "begin", interrupted)
    elif where == "_sampler":
        monkeypatch.setattr(Source, "_sampler", property(interrupted))
    elif where == "commit":
        monkeypatch.setattr(FileReservation, "commit", interrupted)
    else:
        monkeypatch.setattr(FileReservation, "commit", lambda *given: interrupted(commit(*given)))
    assert said in command(*FIT, code=130)
    assert states(ledger) == left


def test_what_went_wrong_is_said_though_the_ledger_cannot_be_read(ledger, monkeypatch):
    def broken(*_):
        raise OSError("`ledger` could not be written to disk; got 'budget.db'. Make room.")

    monkeypatch.setattr(FileReservation, "commit", broken)
    monkeypatch.setattr(Ledger, "entries_of", broken)
    said = command(*FIT, code=3)
    assert said.startswith("Error: `ledger` could not be written to disk; got 'budget.db'. Make room. What it left in")
    assert states(ledger) == ["drawing"]


def test_a_fit_that_was_given_back_meanwhile_says_so(ledger, monkeypatch):
    sampler = Source._sampler.fget

    def late(source):
        if ledger.entries()[0].state == "reserved":
            ledger.give_back(1)
        return sampler(source)

    monkeypatch.setattr(Source, "_sampler", property(late))
    assert "Its entry was given back while the fit was running" in command(*FIT, code=3)
    assert states(ledger) == ["refunded"]
