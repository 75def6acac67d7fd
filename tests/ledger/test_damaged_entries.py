"""Values of a ledger's file that no ledger writes: every door says which one, and nothing is spent."""

import contextlib
import re
import shutil
import sqlite3

import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.ledger import Ledger
from dplr.ledger.terms import _other_unit

# Columns of each table that are read, and the row that is damaged in it.
COLUMNS = {
    "terms": ("id", "eps", "delta", "composition", "neighbouring", "created", "unit"),
    "share": ("name", "eps", "delta", "created"),
    "entry": (
        *("reservation", "state", "eps", "delta", "guarantee", "draws", "label", "reserved_at", "ended_at"),
        *("statement", "share"),
    ),
    "release": ("reservation", "body"),
}
DAMAGES = {
    "empty": "''",
    "null": "NULL",
    "cut JSON": """'{"kind": "Pure", "ep'""",
    "a list": "'[1, 2]'",
    "a number in JSON": "'7'",
    "null in JSON": "'null'",
    "a word": "'lost'",
    "no keys": "'{}'",
    "a kind that is a list": """'{"kind": [], "eps": 1}'""",
    "a loss that is text": """'{"kind": "Pure", "eps": "1"}'""",
    "deep JSON": "replace(hex(zeroblob(60000)), '0', '[')",
    "long digits": "replace(hex(zeroblob(5000)), '0', '9')",
    "a huge loss": """'{"kind": "Gaussian", "mu": 1e999}'""",
    "a huge number": "1e308",
    "infinity": "9e999",
    "a large whole number": "9223372036854775807",
    "a negative number": "-1",
    "a zero byte": "cast(x'610062' AS TEXT)",
    "no UTF-8": "cast(x'ff616263' AS TEXT)",
    "a blob": "x'0001ff'",
}
# What SQL may be about a value that is still one that a ledger writes.
SOUND = {
    ("terms", "eps"): {"a large whole number"},
    ("terms", "unit"): {"null", "cut JSON", "a list", "a number in JSON", "null in JSON", "a word", "no keys"}
    | {"a kind that is a list", "a loss that is text", "deep JSON", "long digits", "a huge loss", "a zero byte"},
    ("share", "eps"): {"a large whole number"},
    ("entry", "eps"): {"a large whole number"},
    ("entry", "draws"): {"a large whole number"},
    ("entry", "ended_at"): {"null"},
    ("entry", "share"): {"null"},
    ("release", "body"): {"a blob"},
}
SOUND[("entry", "label")] = SOUND[("share", "name")] = SOUND[("terms", "unit")]
CASES = [
    (table, column, damage)
    for table, columns in COLUMNS.items()
    for column in columns
    for damage in DAMAGES
    if damage not in SOUND.get((table, column), set())
]


def a_plan(**options):
    return dplr.plan(n_rows=100, n_features=2, eps=0.4, mechanism="fm", **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A ledger with an entry that was committed and kept, one of a share that is reserved, and one set aside."""
    path = tmp_path_factory.mktemp("whole") / "budget.db"
    ledger = Ledger(path, eps=4.0, delta=1e-5, label="people")
    ledger.reserve(a_plan()).commit(outbox=b"a model")
    ledger.share("alice", eps=2.0).reserve(a_plan())
    ledger.set_aside(a_plan(), fits=1)
    return path


@pytest.fixture(scope="module")
def loose(whole):
    """The same file without the types and triggers that keep a value out: what a disk or an editor does asks no one."""
    path = whole.parent / "loose.db"
    shutil.copy(whole, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        schema = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
        for name, _ in [entry for entry in schema if entry[1].startswith("CREATE TRIGGER")]:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA writable_schema = ON")
        for name, sql in [entry for entry in schema if entry[1].startswith("CREATE TABLE")]:
            types = r"\b(TEXT|REAL|BLOB)\b|NOT NULL|(?<=draws )INTEGER"
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (re.sub(types, "", sql), name))
    return path


def damaged(loose, folder, table, column, value):
    """A copy whose second row of a table, or only one, has this value."""
    path = folder / "budget.db"
    shutil.copy(loose, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA synchronous = OFF")
        rows = f"rowid = min(2, (SELECT max(rowid) FROM {table}))"
        connection.execute(f"UPDATE {table} SET {column} = {value} WHERE {rows}")
    return path


DOORS = {
    "terms": lambda ledger: ledger.terms(),
    "entries": lambda ledger: ledger.entries(),
    "spent": lambda ledger: ledger.spent(),
    "remaining": lambda ledger: ledger.remaining(),
    "remaining Gaussian": lambda ledger: ledger.remaining("gaussian", 1e-6),
    "remaining of a share": lambda ledger: ledger.share("alice").remaining(),
    "shares": lambda ledger: ledger.shares(),
    "price": lambda ledger: ledger.price(a_plan()),
    "kept": lambda ledger: ledger.kept(),
    "recover": lambda ledger: ledger.recover(1),
    "entries of": lambda ledger: ledger.entries_of(2),
    "reserve": lambda ledger: ledger.reserve(a_plan()),
    "reserve of a share": lambda ledger: ledger.share("alice").reserve(a_plan()),
    "set aside": lambda ledger: ledger.set_aside(a_plan(), fits=2),
    "give back": lambda ledger: ledger.give_back(2),
}
# Of these columns no other door reads anything.
RELEVANT = {
    "terms": ("terms", "entries", "remaining", "reserve"),
    "share": ("entries", "remaining of a share", "shares", "reserve of a share"),
    "entry": ("entries", "spent", "remaining", "reserve", "give back", "price"),
    "release": ("kept", "recover"),
}


def contents(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        return [connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall() for table in COLUMNS]


def outcome_of(door, path):
    """None for a value, else the error of a door."""
    try:
        door(Ledger(path))
    except (ValueError, dplr.BudgetExceeded) as error:
        return error
    return None


@pytest.mark.grid(5)
@pytest.mark.parametrize(("table", "column", "damage"), CASES)
def test_no_door_takes_a_damaged_value_for_sound_or_fails_by_itself(loose, tmp_path, table, column, damage):
    path = damaged(loose, tmp_path, table, column, DAMAGES[damage])
    before, told = contents(path), []
    for name in RELEVANT[table]:
        error = outcome_of(DOORS[name], path)
        if error is None:
            path = damaged(loose, tmp_path, table, column, DAMAGES[damage])
            continue
        assert type(error) in (ValueError, dplr.BudgetExceeded), name
        assert str(error).startswith("`"), name
        assert contents(path) == before, name
        told.append(str(error))
    marked = [text for text in told if str(path) in text and "is damaged" in text and "Put back a copy" in text]
    assert marked
    assert all("spen" in text for text in marked)


def test_a_value_that_the_triggers_keep_in_is_told_too(whole, tmp_path):
    path = shutil.copy(whole, tmp_path / "budget.db")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER no BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(ValueError, match=r"refuses this step.*stays spent, unless.*SQLite says: no"):
        Ledger(path).give_back(2)


@pytest.mark.parametrize("state", ["lost", "commit\x00ed", ""])
def test_an_entry_in_a_state_that_does_not_exist_does_not_give_its_budget_back(loose, tmp_path, state):
    path = damaged(loose, tmp_path, "entry", "state", f"cast(x'{state.encode().hex()}' AS TEXT)")
    with pytest.raises(ValueError, match=r"budget\.db is not: entry 2 is damaged: `state` must be one of 'set aside'"):
        Ledger(path).remaining()


@pytest.mark.parametrize(
    ("table", "column", "damage", "command"),
    [
        ("entry", "guarantee", "a list", "show"),
        ("entry", "statement", "null in JSON", "show"),
        ("entry", "reserved_at", "a blob", "show"),
        ("entry", "label", "no UTF-8", "show --json"),
        ("terms", "composition", "a word", "show"),
        ("share", "eps", "a word", "show"),
        ("entry", "state", "a list", "give-back 2"),
        ("release", "body", "a large whole number", "recover 1 -o {folder}/model.json"),
    ],
)
def test_the_command_line_says_it_in_one_sentence(loose, tmp_path, table, column, damage, command):
    path = damaged(loose, tmp_path, table, column, DAMAGES[damage])
    name, *rest = command.format(folder=tmp_path).split()
    done = CliRunner().invoke(main, ["ledger", name, str(path), *rest])
    assert done.exit_code not in (0, 70)
    assert "is damaged" in done.output
    assert "Traceback" not in done.output


def test_a_sound_ledger_opens_every_door(whole, tmp_path):
    for place, door in enumerate(DOORS.values()):
        (tmp_path / str(place)).mkdir()
        assert outcome_of(door, shutil.copy(whole, tmp_path / str(place) / "budget.db")) is None


def test_a_unit_of_any_length_stands_in_a_short_message():
    assert len(_other_unit(None, "x" * 10_000)) < 600
