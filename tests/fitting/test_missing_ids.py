"""With a strict ledger one person's missing ids show in nothing public, and move no sum by more than a person may."""

import contextlib
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import dplr
from dplr._kit.progress import silent
from dplr.estimators import _base
from dplr.estimators._callers import call_stack
from dplr.fitting import planning
from dplr.fitting.release import release
from dplr.ledger.budget import NullLedger
from dplr.noise import Source
from dplr.rows.persons import ids as ids_module

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
PERSONS, ROWS = 20, 5
N = PERSONS * ROWS
TABLE = pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, (N, 2)), columns=["a", "b"])
Y = (TABLE["a"] > 0).to_numpy()
BOUNDS = dplr.Bounds({"a": (-1, 1), "b": (-1, 1)})


def ids_of(missing):
    """Ids of 20 persons, of whom so many have none in any row, and one more lacks some."""
    gone = np.arange(N) >= N - ROWS * missing
    gone[:2] = missing > 0
    return np.where(gone, np.nan, np.arange(N) // ROWS)


KINDS = {
    "floats": lambda ids: ids,
    "texts of NumPy": lambda ids: np.where(np.isnan(ids), "", ids.astype(str)),
    "pandas": lambda ids: pd.Series(ids),
    "polars": lambda ids: pl.Series([None if np.isnan(each) else f"p{each}" for each in ids], dtype=pl.String),
    "arrow": lambda ids: pa.chunked_array(
        [pa.array([None if np.isnan(each) else int(each) for each in ids], pa.int64())]
    ),
}


def fitted(path, ids, **options):
    options = {"neighbouring": "replace_one", "n_rows": PERSONS, "mechanism": "fm", **options}
    ledger = dplr.Ledger(path, eps=9.0, delta=1e-5, strict=True, neighbouring=options["neighbouring"], unit="id")
    facts = {"eps": 1.0, "bounds": BOUNDS, "person": "id", "ledger": ledger, "classes": [False, True], **options}
    return dplr.LogisticRegression(**facts).fit(TABLE, Y, person=ids), ledger


def written(ledger):
    """The entries but for their random names."""
    with contextlib.closing(sqlite3.connect(ledger.path)) as connection:
        return connection.execute("SELECT number, state, eps, delta, statement FROM entry").fetchall()


@pytest.mark.parametrize("mechanism", ["fm", "objective", "ngd", "output"])
@pytest.mark.parametrize("kind", KINDS)
def test_missing_ids_of_persons_show_neither_in_a_statement_nor_in_the_ledger(kind, mechanism, tmp_path):
    seen = []
    for missing in (0, 1, 2, PERSONS):
        options = {"mechanism": mechanism, "delta": 1e-6 if mechanism == "ngd" else 0.0}
        est, ledger = fitted(tmp_path / f"{missing}.db", KINDS[kind](ids_of(missing)), **options)
        assert f"the number of persons = {PERSONS}" in est.privacy_.assumptions
        seen.append((est.privacy_, est._record.plan.problem.n_rows, written(ledger)))
    assert all(each == seen[0] for each in seen)


def test_missing_ids_do_not_show_where_rows_are_streamed(tmp_path):
    seen = []
    for missing in (0, 1):
        whole = TABLE.assign(id=KINDS["polars"](ids_of(missing)).to_list(), y=Y.astype(int))
        parquet.write_table(pa.Table.from_pandas(whole), tmp_path / f"{missing}.parquet")
        ledger = dplr.Ledger(tmp_path / f"{missing}.db", eps=9.0, strict=True, unit="id")
        model = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=BOUNDS, person="id", ledger=ledger)
        with pytest.raises(ValueError, match="`n_rows` must be declared"):
            model.fit(tmp_path / f"{missing}.parquet", "y")
        est = model.set_params(n_rows=PERSONS).fit(tmp_path / f"{missing}.parquet", "y")
        seen.append((est.privacy_, written(ledger)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_of_persons_that_was_not_declared_is_refused_whatever_the_ids_are(kind, tmp_path):
    for missing in (0, 1):
        with pytest.raises(ValueError, match="`n_rows` must be declared where a strict ledger protects persons"):
            fitted(tmp_path / f"{missing}.db", KINDS[kind](ids_of(missing)), n_rows=None)
        assert dplr.Ledger(tmp_path / f"{missing}.db").entries() == []
    fitted(tmp_path / "private.db", KINDS[kind](ids_of(1)), n_rows=None, neighbouring="add_remove")


def test_without_a_strict_ledger_a_missing_id_is_told_to_the_data_holder_and_costs_nothing(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1.0, unit="id")
    for n_rows in (None, PERSONS):
        with pytest.raises(ValueError, match="7 of 100 rows with an id that is missing"):
            dplr.fit(TABLE, Y, eps=1.0, mechanism="fm", bounds=BOUNDS, ledger=ledger, n_rows=n_rows, person=ids_of(1))
    assert ledger.entries() == []


def exact_sums(ids, delta):
    """What a strict fit would release without noise."""
    mechanism = dplr.FunctionalMechanism(noise="gaussian") if delta else "fm"
    model = dplr.LogisticRegression(
        eps=1.0, mechanism=mechanism, bounds=BOUNDS, person="id", n_rows=PERSONS, delta=delta
    )
    callers = call_stack()
    given = model._taken_apart(TABLE, BOUNDS, callers, person=ids)
    ready = model._ready(given, Y, BOUNDS, [1.0], callers, True)
    (done,) = release(ready, [ready.facts.planned(np.inf)], NullLedger(), Source(), silent)
    return done.record.parts[0], ready.facts.planned(1.0).statement


def loss_of(ids, others, delta):
    """The privacy loss of two tables over what is allowed: eps of pure noise, mu of Gaussian noise."""
    (here, stated), (there, other) = exact_sums(ids, delta), exact_sums(others, delta)
    assert stated == other
    moved = [np.abs(here[name] - there[name]) / block.scale for name, block in stated.released.items()]
    if delta == 0:
        return sum(each.sum() for each in moved) / stated.eps
    return np.sqrt(sum(np.square(each).sum() for each in moved)) / stated.guarantee.mu


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_person_whose_ids_are_missing_moves_no_sum_by_more_than_a_person_may(delta):
    whole, some = np.arange(N) // ROWS * 1.0, np.arange(N) // ROWS * 1.0
    some[-ROWS : -ROWS + 3] = np.nan
    gone = np.where(np.arange(N) >= N - ROWS, np.nan, whole)
    for first, second in ((whole, gone), (whole, some), (some, gone)):
        assert 0 < loss_of(first, second, delta) <= 1


def test_the_audit_is_red_where_rows_without_an_id_count_whole(monkeypatch):
    whole = np.arange(N) // ROWS * 1.0
    gone = np.where(np.arange(N) >= N - ROWS, np.nan, whole)
    monkeypatch.setattr(
        ids_module.Ids,
        "of_persons",
        lambda self, values: np.append(values, np.ones(1, values.dtype))[self.numbers.codes],
    )
    assert loss_of(whole, gone, 0.0) > 1


def test_a_count_of_ids_would_tell(monkeypatch, tmp_path):
    """As it was: the number of persons was that of the ids."""
    counted = planning.public_n_rows
    monkeypatch.setattr(_base, "public_n_rows", lambda n, given, *rest: counted(n, None, *rest[:2]))
    one, other = (fitted(tmp_path / f"{missing}.db", ids_of(missing))[0].privacy_ for missing in (0, 1))
    assert one != other


def test_a_declared_number_of_persons_does_not_make_a_delta_look_small(tmp_path):
    with pytest.raises(ValueError, match=r"`delta` must be below 0\.001; got 0\.5"):
        fitted(tmp_path / "budget", ids_of(0), n_rows=1, delta=0.5)
