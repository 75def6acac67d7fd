"""Parts that two threads keep on disk at once: every row stays beside its own target and its own weight."""

import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dplr
from dplr.rows.spill import Spill
from dplr.rows.streams import LocalParts
from streamed_rows import MemoryPart

ROWS, PARTS, STEPS = 480, 12, 6


def people():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (ROWS, 2))
    facts = {"a": x[:, 0], "b": x[:, 1], "y": (x[:, 0] > 0.5) * 1.0, "w": rng.uniform(0, 1, ROWS) ** 2}
    return pd.DataFrame(facts | {"id": rng.integers(0, 60, ROWS)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", [{}, {"sample_weight": "w", "weight_bounds": (0, 1)}, {"person": "id"}])
def test_rows_keep_their_targets_and_weights(unit, tmp_path, monkeypatch):
    """Sums do not depend on the order of rows: they differ exactly where the columns of a row were torn apart."""
    table, written, write = people(), [], Spill.write

    def slow(file, data):
        written.append(len(data))
        time.sleep(0.002)  # time enough for another thread to come between
        return write(file, data)

    monkeypatch.setattr(Spill, "write", slow)
    options = {"bounds": dplr.Bounds({"a": (0, 1), "b": (0, 1)}), "eps": float("inf"), "classes": (0, 1)} | unit
    options["mechanism"] = dplr.NoisyGradientDescent(steps=STEPS, standardise="off")
    size = ROWS // PARTS
    rows = pa.Table.from_pandas(table)
    parts = [MemoryPart(rows.slice(start, size), size) for start in range(0, ROWS, size)]
    kept = dplr.fit(dplr.Stream(LocalParts(parts, rows[:0], 2), keep=tmp_path), "y", **options)
    columns = ["a", "b", *(unit[name] for name in ("person", "sample_weight") if name in unit)]
    whole = dplr.fit(table[columns], table["y"], **options)
    assert len(written) == PARTS * (3 if unit else 2)
    np.testing.assert_array_equal(kept.released_["gradients"], whole.released_["gradients"])
