"""Files of format versions 1 to 5, made here by SQL: read as they stand, and rewritten by the first that writes."""

import contextlib
import pathlib
import sqlite3
import threading

import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.ledger import file as ledger_file
from dplr.ledger import transactions
from dplr.ledger.entries import guarantee_text, statement_text
from dplr.ledger.handle import Ledger

VERSION_1 = """
CREATE TABLE terms (
    id TEXT NOT NULL, eps REAL NOT NULL, delta REAL NOT NULL, composition TEXT NOT NULL,
    neighbouring TEXT NOT NULL, strict INTEGER NOT NULL, created TEXT NOT NULL);
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT, reservation TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'committed', 'released')),
    eps REAL NOT NULL, delta REAL NOT NULL, guarantee TEXT NOT NULL, draws INTEGER NOT NULL,
    label TEXT, reserved_at TEXT NOT NULL, ended_at TEXT, statement TEXT NOT NULL);
CREATE INDEX entry_reservation ON entry (reservation);
CREATE INDEX entry_cost ON entry (state, eps, delta, guarantee, draws);
CREATE TRIGGER terms_are_fixed BEFORE UPDATE ON terms
    BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END;
CREATE TRIGGER terms_stay BEFORE DELETE ON terms
    BEGIN SELECT RAISE(ABORT, 'the terms of a ledger are fixed'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never deleted'); END;
CREATE TRIGGER entries_end_once BEFORE UPDATE ON entry WHEN OLD.state <> 'reserved' OR NEW.number <> OLD.number
    OR NEW.eps <> OLD.eps OR NEW.delta <> OLD.delta OR NEW.guarantee <> OLD.guarantee OR NEW.draws <> OLD.draws
    BEGIN SELECT RAISE(ABORT, 'an entry of a ledger ends once'); END;
PRAGMA application_id = 1685089394;
PRAGMA user_version = 1;
"""
VERSION_2 = VERSION_1.replace("'released'", "'refunded'").replace("user_version = 1", "user_version = 2")
SHARES = """
CREATE TABLE share ( name TEXT PRIMARY KEY NOT NULL, eps REAL NOT NULL, delta REAL NOT NULL, created TEXT NOT NULL);
CREATE TRIGGER shares_are_fixed BEFORE UPDATE ON share
    BEGIN SELECT RAISE(ABORT, 'the shares of a ledger are fixed'); END;
CREATE TRIGGER shares_stay BEFORE DELETE ON share
    BEGIN SELECT RAISE(ABORT, 'the shares of a ledger are fixed'); END;
"""
VERSION_3 = SHARES + (
    VERSION_2.replace("statement TEXT NOT NULL);", "statement TEXT NOT NULL, share TEXT);")
    .replace("('reserved',", "('set aside', 'reserved',")
    .replace("OLD.state <> 'reserved'", "OLD.state NOT IN ('set aside', 'reserved')")
    .replace("user_version = 2", "user_version = 3")
)
VERSION_4 = VERSION_3.replace(
    "created TEXT NOT NULL);\nCREATE TABLE entry", "created TEXT NOT NULL, unit TEXT NOT NULL);\nCREATE TABLE entry"
).replace("user_version = 3", "user_version = 4")
FILES = {1: VERSION_1, 2: VERSION_2, 3: VERSION_3, 4: VERSION_4}
NEWEST = 6
WRITTEN = ["committed", "refunded", "reserved", "refunded"]
READ = ["committed", "refunded", "drawing", "refunded"]  # older programs did not say when they began to draw

STATES = dict.fromkeys(FILES, WRITTEN) | {1: [state.replace("refunded", "released") for state in WRITTEN]}


@pytest.fixture(params=[1, 2, 3, 4])
def made(request):
    """The version of the program that made the file."""
    return request.param


@pytest.fixture
def statement(made):
    """One that the ledger takes; files of version 4 are those of persons."""
    return dplr.plan(
        n_rows=100, n_features=2, eps=0.25, mechanism="fm", person="patient" if made == 4 else None
    ).statement


@pytest.fixture
def old(tmp_path, made, statement):
    """A ledger of an older version with eps = 1, of which 0.5 is spent."""
    path = tmp_path / "old.ledger"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(FILES[made])
        connection.execute(
            "INSERT INTO terms VALUES ('abc', 1.0, 0.0, 'basic', 'replace_one', 0, '2026-11-01T10:00:00.000+00:00'"
            + (", 'patient')" if made == 4 else ")")
        )
        for number, state in enumerate(STATES[made]):
            ended = None if state == "reserved" else "2026-11-02T10:00:01.000+00:00"
            cost = (0.25, 0.0, guarantee_text(statement.guarantee), 9, "census", "2026-11-02T10:00:00.000+00:00")
            connection.execute(
                "INSERT INTO entry (reservation, state, eps, delta, guarantee, draws, label, reserved_at, ended_at, "
                "statement) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (f"r{number}", state, *cost, ended, statement_text(statement)),
            )
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def found(path, query):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def version(path):
    return found(path, "PRAGMA user_version")[0][0]


def states(path):
    return [state for (state,) in found(path, "SELECT state FROM entry ORDER BY number")]


def shape(path):
    """The schema, spaces aside."""
    objects = found(path, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    return [f"{name}: {' '.join(sql.split())}" for name, sql in objects]


def test_an_old_file_is_read_as_it_stands(old, made, statement):
    ledger = Ledger(old)
    assert [entry.state for entry in ledger.entries()] == READ
    assert (ledger.remaining(), ledger.spent()) == ((0.5, 0.0), (0.5, 0.0))
    assert ledger.price(statement).fits
    shown = CliRunner().invoke(main, ["ledger", "show", str(old), "--public"])
    assert (shown.exit_code, shown.stdout.count("spent    ")) == (0, 3)  # the sum, and the two entries that count
    assert (version(old), states(old)) == (made, STATES[made])


def test_the_first_that_writes_rewrites_it_and_nothing_but_a_word_changes(old, made, tmp_path, statement):
    rest = (
        "SELECT number, reservation, eps, delta, guarantee, draws, label, reserved_at, ended_at, statement FROM entry"
    )
    before, terms = found(old, rest), found(old, "SELECT * FROM terms")
    ledger = Ledger(old)
    ledger.reserve(statement).refund()
    assert (version(old), states(old)) == (NEWEST, [*READ, "refunded"])
    assert found(old, rest)[:-1] == before
    assert found(old, "SELECT DISTINCT holder, fingerprint FROM entry") == [(None, None)]
    assert found(old, "SELECT * FROM terms") == [(*terms[0][:7], "patient" if made == 4 else None)]
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3, 4, 5]
    assert ledger.remaining() == (0.5, 0.0)
    Ledger(tmp_path / "new.ledger", eps=1.0)
    assert [unit.replace("unit TEXT NOT NULL", "unit TEXT") for unit in shape(old)] == shape(tmp_path / "new.ledger")
    assert found(old, "PRAGMA integrity_check") == [("ok",)]
    with contextlib.closing(sqlite3.connect(old)) as connection:
        for statement in ("DELETE FROM entry", "UPDATE entry SET eps = 0.1", "UPDATE terms SET eps = 9"):
            with pytest.raises(sqlite3.IntegrityError, match="ledger"):
                connection.execute(statement)
        with pytest.raises(sqlite3.IntegrityError, match="ends once"):
            connection.execute("UPDATE entry SET state = 'refunded' WHERE state = 'drawing'")


def test_a_refusal_leaves_the_old_file_as_it_was(old, made, statement):
    with pytest.raises(dplr.BudgetExceeded):
        Ledger(old).reserve(statement, statement, statement)
    assert (version(old), states(old)) == (made, STATES[made])


STOPS = [(made, stop) for made in FILES for stop in range(len(list(ledger_file._rewriting(made))))]


@pytest.mark.parametrize(("made", "stop"), STOPS, indirect=["made"])
def test_a_rewriting_that_is_cut_short_leaves_the_old_file_whole(old, made, tmp_path, monkeypatch, stop, statement):
    """The file and its log are copied before each statement, as a crash would leave them, and opened."""
    copies, rewriting = [], list(ledger_file._rewriting(made))
    write = ledger_file.upgrade

    class Copying:
        def __init__(self, connection):
            self.connection, self.count = connection, 0

        def execute(self, said, *values):
            if said in rewriting:
                if self.count == stop:
                    for name in (old.name, f"{old.name}-wal"):
                        if (source := old.with_name(name)).exists():
                            (tmp_path / "crashed").mkdir(exist_ok=True)
                            copies.append(tmp_path / "crashed" / name)
                            copies[-1].write_bytes(source.read_bytes())
                self.count += 1
            return self.connection.execute(said, *values)

    monkeypatch.setattr(transactions, "upgrade", lambda connection: write(Copying(connection)))
    Ledger(old).reserve(statement).commit()
    crashed = pathlib.Path(copies[0])
    assert (version(crashed), states(crashed)) == (made, STATES[made])
    monkeypatch.undo()
    ledger = Ledger(crashed)
    ledger.reserve(statement).commit()
    assert (version(crashed), states(crashed)) == (NEWEST, [*READ, "committed"])


def test_a_rewriting_that_fails_is_undone(old, made, monkeypatch, statement):
    rewriting = [*ledger_file._rewriting(made), "SELECT * FROM nowhere"]
    monkeypatch.setattr(ledger_file, "_rewriting", lambda _: iter(rewriting))
    with pytest.raises(RuntimeError, match="`ledger` could not be used"):
        Ledger(old).reserve(statement)
    assert (version(old), states(old)) == (made, STATES[made])
    monkeypatch.undo()
    assert Ledger(old).remaining() == (0.5, 0.0)


def test_many_that_write_at_once_rewrite_it_once(old, statement):
    ends = []

    def spend():
        with contextlib.suppress(dplr.BudgetExceeded):
            Ledger(old).reserve(statement).commit()
            ends.append("committed")

    threads = [threading.Thread(target=spend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == ["committed"] * 2
    assert (version(old), states(old)) == (NEWEST, [*READ, "committed", "committed"])


@pytest.mark.parametrize("unknown", [0, 7])
def test_another_version_is_refused(old, unknown):
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {unknown}")
    with pytest.raises(ValueError, match=f"must have version 1 to 6 of the format, but has {unknown}"):
        Ledger(old)


def test_an_old_file_has_no_shares_until_one_is_made(old, made, statement):
    ledger = Ledger(old)
    assert ledger.shares() == {}
    assert {entry.share for entry in ledger.entries()} == {None}
    with pytest.raises(ValueError, match="`share` must be one that exists"):
        ledger.share("alice")
    assert (version(old), states(old)) == (made, STATES[made])
    alice = ledger.share("alice", 0.5, 0.0)
    assert (version(old), states(old)) == (NEWEST, READ)
    alice.reserve(statement).commit()
    assert (alice.remaining(), ledger.remaining()) == ((0.25, 0.0), (0.25, 0.0))


def test_a_search_is_set_aside_in_an_old_file(old, statement):
    with Ledger(old).reserve(statement, fits=2) as held:
        held.reserve(statement).commit()
    assert (version(old), states(old)) == (NEWEST, [*READ, "committed", "refunded"])


def test_what_an_old_program_reserved_may_have_drawn_and_is_not_given_back(old, statement):
    ledger = Ledger(old)
    for _ in range(2):  # as it stands, and rewritten
        with pytest.raises(ValueError, match="It is drawing: its noise may have been drawn"):
            ledger.give_back(3)
        ledger.reserve(statement).refund()


@pytest.mark.parametrize("made", [3, 4], indirect=True)
def test_shares_outlive_a_rewriting(old, statement):
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("INSERT INTO share VALUES ('alice', 0.75, 0.0, '2026-11-01')")
        connection.execute(
            "INSERT INTO entry (reservation, state, eps, delta, guarantee, draws, reserved_at, statement, share) "
            "SELECT 'r9', 'committed', eps, delta, guarantee, draws, reserved_at, statement, 'alice' FROM entry LIMIT 1"
        )
    alice = Ledger(old).share("alice")
    before = (alice.remaining(), alice.entries())
    Ledger(old).reserve(statement).refund()
    assert version(old) == NEWEST
    assert (alice.remaining(), alice.entries()) == before == ((0.25, 0.0), before[1])


def test_a_file_with_fingerprints_as_they_were_given_forgets_them_and_keeps_all_else(tmp_path):
    plan = dplr.plan(n_rows=100, n_features=2, eps=0.25, mechanism="fm")
    ledger = Ledger(tmp_path / "budget", eps=1.0)
    ledger.reserve(plan, fingerprint="f")
    drew = ledger.reserve(plan, fingerprint="f")
    drew.draw()
    ledger.reserve(plan).commit(outbox=b"a model")
    with contextlib.closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        connection.execute("UPDATE entry SET fingerprint = 'label of record 7 is 1' WHERE fingerprint IS NOT NULL")
        connection.execute("DROP TABLE secret")
        connection.execute("PRAGMA user_version = 5")
    before = ledger.entries()
    assert ([entry.state for entry in before], ledger.kept()) == (["reserved", "drawing", "committed"], [3])
    ledger.reserve(plan).refund()
    assert (version(ledger.path), ledger.entries()[:3]) == (NEWEST, before)
    assert found(ledger.path, "SELECT DISTINCT fingerprint FROM entry") == [(None,)]
    assert (ledger.recover(3), ledger.give_back(1)) == (b"a model", [1])
    Ledger(tmp_path / "new.ledger", eps=1.0)
    assert shape(ledger.path) == shape(tmp_path / "new.ledger")
