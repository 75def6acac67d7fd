"""A ledger protects records, or persons of one name, and takes no release about anything else."""

import contextlib
import json
import sqlite3

import numpy as np
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.ledger import file as ledger_file

X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
Y = X[:, 0] > 0
IDS = np.arange(400) // 4


def statement(**unit):
    return dplr.plan(n_rows=100, n_features=2, eps=0.25, mechanism="fm", **unit).statement


def version(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


@pytest.fixture
def of_persons(tmp_path):
    return dplr.Ledger(tmp_path / "persons.ledger", eps=1.0, unit="id")


@pytest.fixture
def of_records(tmp_path):
    return dplr.Ledger(tmp_path / "records.ledger", eps=1.0)


def test_a_ledger_of_persons_takes_fits_about_these_persons_alone(of_persons):
    est = dplr.LogisticRegression(eps=0.5, mechanism="fm", bounds=dplr.Bounds([(-1, 1)] * 2), ledger=of_persons)
    for wrong in ({}, {"person": "household"}):
        with pytest.raises(ValueError, match="`person` must be 'id': the ledger's releases protect one person, as the"):
            est.set_params(person=wrong.get("person")).fit(X, Y, person=IDS if wrong else None)
    assert of_persons.remaining()[0] == 1.0
    est.set_params(person="id").fit(X, Y, person=IDS)
    (entry,) = of_persons.entries()
    assert entry.statement["unit"]["person"] == "id"
    assert of_persons.remaining()[0] == 0.5


def test_a_ledger_of_records_refuses_persons_and_takes_weighted_records(of_records):
    with pytest.raises(ValueError, match=r"`person` must be None: the ledger's releases protect one record; got 'id'"):
        of_records.reserve(statement(person="id"))
    with pytest.raises(ValueError, match=r"Make a ledger with unit='id'\."):
        of_records.price(statement(person="id"))
    of_records.reserve(statement(bounds=dplr.Bounds(None, weight_max=9.0))).commit()
    assert of_records.entries()[0].statement["unit"]["weight_max"] == 9.0
    of_records.reserve(statement()).commit()
    assert of_records.entries()[1].statement["unit"] is None


def test_all_of_a_reservation_is_of_the_unit_also_what_is_set_aside_and_of_shares(of_persons):
    with pytest.raises(ValueError, match="`person` must be 'id'"):
        of_persons.reserve(statement(person="id"), statement())
    with pytest.raises(ValueError, match="`person` must be 'id'"):
        of_persons.share("alice", eps=0.5).reserve(statement())
    held = of_persons.set_aside(statement(person="id"), fits=2)
    with pytest.raises(ValueError, match="`person` must be 'id'"):
        held.reserve(statement())
    assert held.unused() == 2
    assert {entry.state for entry in of_persons.entries()} == {"set aside"}


def test_the_unit_is_a_term_that_never_changes(of_persons, of_records):
    assert (of_persons.terms().unit, of_records.terms().unit) == ("id", None)
    assert dplr.Ledger(of_persons.path).terms() == dplr.Ledger(of_persons.path, unit="id").terms()
    with pytest.raises(ValueError, match="`unit` must be 'id', as the ledger"):
        dplr.Ledger(of_persons.path, unit="household")
    with pytest.raises(ValueError, match="`unit` must be None, as the ledger"):
        dplr.Ledger(of_records.path, unit="id")
    with (
        contextlib.closing(sqlite3.connect(of_persons.path)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="the terms of a ledger are fixed"),
    ):
        connection.execute("UPDATE terms SET unit = 'other'")


@pytest.mark.parametrize("unit", ["", 3, "\ud800"])
def test_a_unit_that_cannot_be_written_is_refused(tmp_path, unit):
    with pytest.raises((ValueError, TypeError), match="`unit` must be a text"):
        dplr.Ledger(tmp_path / "new.ledger", eps=1.0, unit=unit)
    assert not (tmp_path / "new.ledger").exists()


def test_ledgers_of_persons_and_of_records_have_one_version(of_persons, of_records):
    of_persons.reserve(statement(person="id")).commit()
    of_records.reserve(statement()).commit()
    assert version(of_persons.path) == version(of_records.path) == ledger_file.VERSION
    assert of_persons.share("alice", eps=0.1).remaining()[0] == 0.1


def test_the_command_makes_and_shows_the_unit(tmp_path):
    path = str(tmp_path / "visits.db")
    made = CliRunner().invoke(main, ["ledger", "init", path, "--eps", "3", "--unit", "patient"])
    assert (made.exit_code, "replace_one of persons (patient)" in made.output) == (0, True)
    shown = CliRunner().invoke(main, ["ledger", "show", path])
    assert "replace_one of persons (patient)" in shown.output
    assert json.loads(CliRunner().invoke(main, ["ledger", "show", path, "--json"]).output)["terms"]["unit"] == "patient"
