"""Batches of seven rows are the whole table: of every release, with ids, weights and labels, in memory and streamed."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dplr
from dplr.evaluation import tally
from dplr.rows.streams import LocalParts, histograms
from streamed_rows import MemoryPart

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(4)
N = 60
TABLE = pd.DataFrame({
    "a": RNG.uniform(0, 1, N), "b": RNG.uniform(0, 1, N), "c": RNG.uniform(0, 1, N), "y": RNG.uniform(0, 1, N),
    "said": RNG.choice(["no", "yes"], N), "third": RNG.choice(["x", "y", "z"], N), "who": RNG.integers(0, 25, N),
    "w": RNG.uniform(0, 3, N),
})  # fmt: skip
UNITS = {
    "rows": {},
    "persons": {"person": "who"},
    "persons, two rows": {"person": "who", "bounds": dplr.Bounds(None, rows_per_person=2)},
    "weights": {"sample_weight": "w", "bounds": dplr.Bounds(None, weight_max=2.0)},
    "both": {"person": "who", "sample_weight": "w", "bounds": dplr.Bounds(None, weight_max=2.0)},
}


def column(name):
    return lambda rows: np.asarray(rows[name], float)


def thirds(rows):
    p = np.stack([np.asarray(rows[name], float) + 0.01 for name in "abc"], axis=1)
    return p / p.sum(axis=1, keepdims=True)


KINDS = {
    "labels": (column("a"), "said", {"classes": ("no", "yes")}),
    "classes": (thirds, "third", {"classes": ("x", "y", "z")}),
    "decisions": (
        lambda rows: np.where(column("a")(rows) < 0.5, "no", "yes"), "said",
        {"classes": ("no", "yes"), "decisions": True},
    ),
    "numbers": (column("a"), "y", {"target_bounds": (0, 1)}),
    "two models": (column("a"), "said", {"classes": ("no", "yes"), "against": column("b")}),
    "two models of numbers": (column("a"), "y", {"target_bounds": (0, 1), "against": column("b")}),
}  # fmt: skip


def of_seven(frame):
    """A stream of parts of 20 rows, each read in batches of seven."""
    parts = [pa.Table.from_pandas(frame[at : at + 20], preserve_index=False) for at in range(0, len(frame), 20)]
    return dplr.Stream(LocalParts([MemoryPart(part, 7) for part in parts], parts[0][:0]))


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation(kind, monkeypatch):
    model, y, options = KINDS[kind]
    for unit in UNITS.values():
        columns = [name for name in ("a", "b", "c", y, *(unit.get(key) for key in ("person", "sample_weight"))) if name]
        rows, facts = TABLE[columns], {**options, **unit, "eps": np.inf}
        whole = dplr.evaluate(model, rows, y, **facts)
        answers = {"against": facts["against"](rows)} if "against" in facts else {}
        with monkeypatch.context() as patch:
            patch.setattr("dplr.evaluation.release.BATCH", 7)
            batches = dplr.evaluate(model, rows, y, **facts)
            arrays = dplr.evaluate(model(rows), rows, y, **{**facts, **answers})
            patch.setattr(tally, "BATCH", 3)
            pieces = dplr.evaluate(model, rows, y, **facts)
        for other in (batches, arrays, pieces, dplr.evaluate(model, of_seven(rows), y, **facts)):
            assert other.privacy_ == whole.privacy_
            for name, numbers in whole.released_.items():
                assert (other.released_[name] == numbers).all(), (name, unit)


@pytest.mark.parametrize("unit", UNITS)
def test_learned_bounds(unit, monkeypatch):
    kinds = {"a": "number", "y": "number", "third": "levels"}
    columns = [*kinds, *(UNITS[unit].get(key) for key in ("person", "sample_weight") if key in UNITS[unit])]
    facts = {"eps": 2000.0, "delta": 1e-6, "columns": kinds, "rng": 3, **UNITS[unit]}
    whole = dplr.learn_bounds(TABLE[columns], **facts)
    monkeypatch.setattr(histograms, "_CHUNK", 7)
    for rows in (TABLE[columns], of_seven(TABLE[columns])):
        other = dplr.learn_bounds(rows, **facts)
        assert (other.columns, other.privacy_, other.bounds) == (whole.columns, whole.privacy_, whole.bounds)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_moments(delta):
    bounds = {"a": (0, 1), "third": {"levels": ["x", "y", "z"]}, "y": (0, 1)}
    whole, other = (
        dplr.release_moments(rows, bounds=bounds, eps=1.0, delta=delta, rng=3)
        for rows in (TABLE[[*bounds]], of_seven(TABLE[[*bounds]]))
    )
    assert other.privacy_ == whole.privacy_
    assert other.regress("y").coef_.tolist() == whole.regress("y").coef_.tolist()
