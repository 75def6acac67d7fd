"""Squares of persons' scores: exact integers, wherever the rows of a person lie."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import dplr
from dplr._core import ClippedRows
from dplr.bounds.scaling import ball_prep, box_prep
from dplr.mechanisms import squares
from dplr.privacy.unit import Unit
from dplr.rows import ArrayRows, row_weights
from dplr.rows import scores_at as clusters
from dplr.rows.exact import on_coef_grid, row_map
from dplr.rows.scores_at import PersonScores, meat_moments
from dplr.rows.streams import LocalParts
from streamed_rows import MemoryPart

UNITS = 2**20
POINT = on_coef_grid(np.array([0.5, -0.2, 0.1, 1.2]))
PREP = box_prep([(-1.0, 1.0)] * 3, True, None, (-1.0, 1.0))
QUERY = meat_moments(3, True, PREP.geometry.row_norm)


def made(n=3000, persons=700, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 3)), rng.uniform(-1, 1, n), rng.permutation(np.arange(n) % persons)


def weighted(ids, weights=None, k=1):
    return row_weights(len(ids), Unit("id", k, None if weights is None else 1.0), ids, weights)


def exact(X, y, ids, shares):
    """The same in Python integers, person by person."""
    c = int(PREP.geometry.half_width * UNITS)
    rows = np.column_stack([np.rint(np.clip(X * c, -c, c)), np.full(len(X), UNITS // 2)]).astype(int)
    residuals = rows @ POINT - np.rint(y * UNITS)  # exact: multiples of 2^-20
    sizes = np.minimum(np.trunc(np.abs(residuals) / 2), UNITS // 2).astype(int)  # in units of 2^-19
    total = np.zeros((4, 4), object)
    for person in np.unique(ids):
        score = [0] * 4
        for i in np.flatnonzero(ids == person).tolist():
            factor = int(sizes[i]) * int(shares[i] * 2**30) >> 15
            factor = -factor if residuals[i] < 0 else factor
            score = [s + factor * int(v) for s, v in zip(score, rows[i], strict=True)]
        score = [(abs(s) >> 34) * (1 if s > 0 else -1) for s in score]
        total += np.outer(np.array(score, object), np.array(score, object))
    return np.triu(total)


def sums(rows, query=QUERY, point=POINT):
    scores = PersonScores(query, rows.units)
    return scores.squares(rows.total(scores, point).faults).integers(-40)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("with_weights", [False, True])
def test_sums_are_those_of_exact_integers(with_weights, k):
    X, y, ids = made()
    weights = weighted(ids, np.random.default_rng(1).uniform(0, 0.9, len(y)) if with_weights else None, k)
    found = sums(ArrayRows(X, y, PREP, weights=weights))
    assert np.array_equal(found, exact(X, y, ids, weights.of_rows))
    assert np.abs(found).min(where=np.triu(np.ones((4, 4), bool)), initial=2**60) > 2**20


@pytest.mark.parametrize("bounded", [True, False])
def test_sums_do_not_depend_on_the_order_of_rows_blocks_threads_or_names(bounded):
    X, y, ids = made(40_000, 9000)
    prep = PREP if bounded else ball_prep(3, True, None)
    query = meat_moments(3, True, prep.geometry.row_norm)

    def at(X, y, ids, **options):
        return sums(ArrayRows(X, y, prep, weights=weighted(ids), **options), query)

    usual, order = at(X, y, ids), np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(at(X[order], y[order], ids[order]), usual)
    assert np.array_equal(at(X, y, ids, block_rows=777, threads=2), usual)
    assert np.array_equal(at(np.asfortranarray(X), y, 7 * ids + 3), usual)
    assert not np.array_equal(at(X, y, np.arange(len(y))), usual)  # rows as persons


@pytest.mark.parametrize("threads", [1, 2])
def test_streams_have_the_numbers_of_a_table(threads):
    X, y, ids = made(5000, 900)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y, "id": ids})
    parts = LocalParts([MemoryPart(table[:1700], 300), MemoryPart(table[1700:], 999)], table[:0], threads)
    options = {
        "eps": float("inf"), "model": "linear", "person": "id", "mechanism": "fm", "aim": "coefficients",
        "bounds": dplr.Bounds({"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1)),
    }  # fmt: skip
    streamed, whole = dplr.fit(parts, "y", **options), dplr.fit(table, "y", **options)
    assert "meat_off_diagonal" in whole.released_
    for name, block in whole.released_.items():
        np.testing.assert_array_equal(streamed.released_[name], block)


def test_no_person_adds_more_than_one_row_may_and_one_with_more_rows_than_were_counted_is_refused():
    """Rows at a corner whose residuals all count in full, and more of them than of anybody else."""
    far = on_coef_grid(np.array([0.0, 0.0, 0.0, 40.0]))
    X, y, ids = np.ones((60, 3)), -np.ones(60), np.zeros(60, int)
    weights, bound = weighted(ids), PREP.geometry.row_norm**2
    found = sums(ArrayRows(X, y, PREP, weights=weights), QUERY, far) * 2.0**-40
    assert 0.99 * bound <= np.trace(found) <= bound
    whole = type(weights)(np.ones(60), weights.persons, 1)
    with pytest.raises(RuntimeError, match="more than were counted"):  # else the trace is above 100 times the bound
        sums(ArrayRows(X, y, PREP, weights=whole), QUERY, far)


def test_more_persons_than_have_room_are_refused_before_a_row_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(clusters, "MOST_BYTES", 8 * 3 * 100)
    bounds = dplr.Bounds({"a": (0, 1), "b": (0, 1)}, target=(0, 1))
    options = {"eps": 1.0, "bounds": bounds, "model": "linear", "mechanism": "fm", "aim": "coefficients"}
    table, rng = {"a": np.zeros(101), "b": np.zeros(101), "id": np.arange(101)}, np.random.default_rng(0)
    for relation, reference in (("replace_one", None), ("add_remove", 101)):
        ledger = dplr.Ledger(tmp_path / f"{relation}.db", eps=10, unit="id", neighbouring=relation)
        options |= {"neighbouring": relation, "n_rows": reference}
        with pytest.raises(ValueError, match="`person` must tell at most 100 persons apart"):
            dplr.fit(pa.table(table), rng.random(101), person="id", ledger=ledger, **options)
        assert ledger.remaining()[0] == 10
    assert squares.check_persons(dplr.plan(person="id", **options | {"n_rows": 5}).problem, 100) is None


@pytest.mark.parametrize("mechanism", ["fm", "score"])
def test_a_private_number_of_persons_decides_nothing_that_is_seen(mechanism, monkeypatch, tmp_path):
    """Neighbours of 100 and 101 persons, of which there is room for 100: both fits end, and cost the same."""
    monkeypatch.setattr(clusters, "MOST_BYTES", 8 * 3 * 100)
    bounds, rng = dplr.Bounds({"a": (0, 1), "b": (0, 1)}, target=(0, 1)), np.random.default_rng(0)
    ledger = dplr.Ledger(tmp_path / "b.db", eps=10, delta=1e-3, unit="id", neighbouring="add_remove")
    left = []
    for persons in (100, 101):
        columns = {"a": rng.random(persons), "b": rng.random(persons), "id": np.arange(persons)}
        options = {"bounds": bounds, "mechanism": mechanism, "aim": "coefficients", "person": "id"}
        options |= {"model": "linear"} if mechanism == "fm" else {"model": "huber", "delta": 1e-6}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dplr.fit(
                pa.table(columns), rng.random(persons), eps=1.0, ledger=ledger, neighbouring="add_remove", **options
            )
        told = [str(each.message) for each in caught if "GiB of memory" in str(each.message)]
        assert len(told) == (persons == 101)
        left.append(ledger.remaining()[0])
    assert left == [9, 8]


def test_the_kernel_refuses_numbers_that_are_no_persons():
    rows = ClippedRows(np.ones((3, 3)), np.ones(3), row_map(PREP))
    for persons in ([0, 1, 2], [0, -1, 1], [0, 1]):
        with pytest.raises(ValueError, match="persons must be one number of a person for each row"):
            rows.add_to_persons(np.ones(3, np.int64), np.array(persons), 0, 3, np.zeros((2, 4), np.int64))
    with pytest.raises(ValueError, match="sums of q entries"):
        rows.add_to_persons(np.ones(3, np.int64), np.zeros(3, np.int64), 0, 3, np.zeros((2, 3), np.int64))
