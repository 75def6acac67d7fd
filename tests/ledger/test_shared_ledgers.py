"""A ledger is a file that others share: its owner, a group, readers, and programs that hold it for long."""

import os
import pathlib
import shutil
import sqlite3
import stat
import sys
import tempfile
import threading

import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.ledger import Ledger

GROUP = 54321
OWNER, MEMBER, OTHER = (54322, (54322, GROUP)), (54323, (54323, GROUP)), (54324, (54324,))  # users with their groups
USERS = {"the owner": OWNER, "a member": MEMBER, "another": OTHER}
FOLDERS = {"of the owner": 0o755, "of the group": 0o2775, "of all": 0o1777}
several = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can act as several users")


def a_plan(eps=0.1):
    return dplr.plan(n_rows=1000, n_features=2, eps=eps, mechanism="fm")


def look(path):
    ledger = Ledger(path)
    return f"{len(ledger.entries())} entries"


def spend(path):
    held = Ledger(path).reserve(a_plan(0.001))
    held.draw()
    held.commit()
    return "spent"


def cut_short(path):
    """A crash after the pages of a step went to the disk, and before it ended."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE filler (body BLOB)")
    connection.executemany("INSERT INTO filler VALUES (?)", [(bytes(3000),)] * 50)
    assert os.path.getsize(f"{path}-journal")
    os._exit(0)


def as_user(user, act, path):
    """What an act of a user returned, or the sentence that refused it."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups(user[1])
        os.setresgid(user[0], user[0], user[0])
        os.setresuid(user[0], user[0], user[0])
        try:
            said = act(path)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(into, said.encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as reading:
        said = reading.read()
    os.waitpid(pid, 0)
    return said


@pytest.fixture
def place():
    folder = pathlib.Path(tempfile.mkdtemp())  # not of pytest, whose folders are root's alone
    yield folder
    shutil.rmtree(folder)


def shared(place, mode, folder_mode):
    """The path of a ledger of the owner and the group."""
    path = place / "budget.db"
    spend(tmp := Ledger(place / "another", eps=1.0).path)  # whatever is imported late is, before the rights go
    os.unlink(tmp)
    Ledger(path, eps=1.0)
    for each, bits in ((path, mode), (place, folder_mode)):
        os.chown(each, OWNER[0], GROUP)
        each.chmod(bits)
    return os.fspath(path)


def rights(user, mode):
    """The three bits of a mode that are a user's."""
    return (mode >> 6 if user is OWNER else mode >> 3 if GROUP in user[1] else mode) & 0o7


@several
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("mode", [0o444, 0o600, 0o640, 0o644, 0o660, 0o664], ids=oct)
def test_whoever_looks_or_spends_leaves_nothing_that_locks_the_owner_out(place, mode, folder):
    path = shared(place, mode, FOLDERS[folder])
    for name, user in USERS.items():
        may_look = bool(rights(user, mode) & 4)
        may_spend = may_look and rights(user, mode) & 2 and rights(user, FOLDERS[folder]) & 2
        for act, may in ((look, may_look), (spend, may_spend)):
            said = as_user(user, act, path)
            assert said.startswith("PermissionError: `ledger` must be a file that this user may") is not bool(may), said
            assert "Error" not in said or "spen" in said, (name, said)
            assert os.listdir(place) == ["budget.db"], (name, act)
            assert stat.S_IMODE(os.stat(path).st_mode) == mode
    os.chmod(path, mode | 0o600)
    assert as_user(OWNER, spend, path) == "spent"


@several
def test_a_ledger_that_nobody_can_write_can_be_looked_at(place):
    """As on read-only media."""
    path = shared(place, 0o444, 0o555)
    assert [as_user(user, look, path) for user in USERS.values()] == ["0 entries"] * 3
    assert as_user(OWNER, spend, path).startswith("PermissionError: `ledger` must be a file that this user may read")


@several
def test_a_step_that_was_cut_short_waits_for_somebody_who_may_write(place):
    path = shared(place, 0o664, 0o2775)
    assert as_user(OWNER, spend, path) == "spent"
    as_user(MEMBER, cut_short, path)
    assert os.path.exists(f"{path}-journal")
    said = as_user(OTHER, look, path)
    assert said.startswith("PermissionError: `ledger`")
    assert "a step that was cut short is put right when the owner looks" in said
    assert as_user(OWNER, look, path) == "1 entries"
    assert os.listdir(place) == ["budget.db"]
    assert [as_user(user, look, path) for user in USERS.values()] == ["1 entries"] * 3


def test_a_look_at_a_ledger_that_cannot_be_written_for_a_while_leaves_its_owner_able_to_spend(tmp_path):
    path = tmp_path / "budget.db"
    Ledger(path, eps=1.0)
    path.chmod(0o444)
    with Ledger(path)._opened.reading():
        assert os.listdir(tmp_path) == ["budget.db"]  # root may write it all the same, and would remove what it left
    assert look(path) == "0 entries"
    assert os.listdir(tmp_path) == ["budget.db"]
    path.chmod(0o644)
    assert spend(path) == "spent"


def test_a_failed_look_holds_no_lock_while_its_error_lives(tmp_path):
    path = tmp_path / "budget.db"
    Ledger(path, eps=1.0)
    spend(path)
    spend(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER entries_end_once")
    connection.execute("UPDATE entry SET label = x'00' WHERE number = 1")
    with pytest.raises(ValueError, match="must be whole") as kept:
        look(path)
    connection.execute("UPDATE entry SET label = NULL WHERE number = 1")
    connection.close()
    assert kept.value
    assert spend(path) == "spent"


# --- a file that others hold for long

COMMANDS = {
    "show": ["ledger", "show", "budget.db"],
    "share": ["ledger", "share", "budget.db", "alice", "--eps", "0.5"],
    "give-back": ["ledger", "give-back", "budget.db", "1"],
    "recover": ["ledger", "recover", "budget.db", "1", "-o", "model.json"],
    "plan": ["plan", "--n-rows", "400", "--bounds", "b.toml", "--eps", "0.1", "--ledger", "budget.db"],
    "fit": [
        *("fit", "x.csv", "--target", "y", "--bounds", "b.toml", "--eps", "0.1"),
        *("--ledger", "budget.db", "-o", "model.json"),
    ],
}


@pytest.mark.parametrize("held", ["EXCLUSIVE", "IMMEDIATE"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_finds_a_ledger_held_says_what_to_do(name, held, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dplr.ledger.connection.WAIT_SECONDS", 0.1)
    pathlib.Path("b.toml").write_text("[features.age]\nlower = 18\nupper = 99\n[target]\nclasses = [0, 1]\n")
    pathlib.Path("x.csv").write_text("age,y\n" + "".join(f"{20 + i % 70},{i % 2}\n" for i in range(400)))
    Ledger("budget.db", eps=1.0).reserve(a_plan())
    holder = sqlite3.connect("budget.db", isolation_level=None)
    holder.execute(f"BEGIN {held}")
    done = CliRunner().invoke(main, COMMANDS[name])
    if held == "IMMEDIATE" and name in ("show", "plan", "recover"):  # it can be read beside a writer
        assert "in use by others" not in done.output
    else:
        assert done.exit_code == 3, done.output
        assert "was in use by others" in done.output
        assert "Another program, such as a backup, holds the file: wait until it has ended." in done.output
    holder.execute("ROLLBACK")
    holder.close()
    assert [entry.state for entry in Ledger("budget.db").entries()] == ["reserved"]


@pytest.mark.parametrize("begin", ["BEGIN EXCLUSIVE", "BEGIN"])
def test_a_commit_waits_longer_than_all_else_since_its_noise_is_drawn(begin, tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "budget.db", eps=1.0)
    held = ledger.reserve(a_plan())
    held.draw()
    monkeypatch.setattr("dplr.ledger.connection.WAIT_SECONDS", 0.1)
    holder = sqlite3.connect(ledger.path, isolation_level=None, check_same_thread=False)
    holder.execute(begin)
    holder.execute("SELECT count(*) FROM entry").fetchone()  # who only reads keeps others from writing, too
    with pytest.raises(TimeoutError):
        ledger.reserve(a_plan())
    timer = threading.Timer(0.25, holder.execute, ["ROLLBACK"])
    timer.start()
    held.commit(outbox=b"a model")
    timer.join()
    holder.close()
    assert (ledger.kept(), [entry.state for entry in ledger.entries()]) == ([1], ["committed"])


def test_no_error_of_a_file_is_a_fault_of_dplr(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(5, "Input/output error", "budget.db")

    monkeypatch.chdir(tmp_path)
    Ledger("budget.db", eps=1.0)
    monkeypatch.setattr("dplr.cli._ledger.visible", fails)
    done = CliRunner().invoke(main, ["ledger", "show", "budget.db"])
    assert done.exit_code == 3
    assert "`budget.db`: Input/output error." in done.output
    assert "fault of dplr" not in done.output
