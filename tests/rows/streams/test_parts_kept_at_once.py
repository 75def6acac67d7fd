"""Parts that two threads keep on disk at once: every row stays beside its own target and its own weight."""

import itertools
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dplr
from declared_units import declared
from dplr.rows.spill import SpilledRows
from dplr.rows.streams import LocalParts
from streamed_rows import MemoryPart

ROWS, PARTS, STEPS = 480, 12, 6


class Slow(list):
    """Files of columns: every second thread writes its first late and all others while the one before it waits."""

    steps, turns = (), itertools.count()

    def __iter__(self):
        late = next(Slow.turns) % 2
        for place, file in enumerate(super().__iter__()):
            Slow.steps += (threading.get_ident(),)
            time.sleep(0.003 * (place == 0) if late else 0.008 * (place == 1))
            yield file


def people():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (ROWS, 2))
    facts = {"a": x[:, 0], "b": x[:, 1], "y": (x[:, 0] > 0.5) * 1.0, "w": rng.uniform(0, 1, ROWS) ** 2}
    return pd.DataFrame(facts | {"id": rng.integers(0, 60, ROWS)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unit", [{}, {"sample_weight": "w", "weight_max": 1}, {"person": "id"}])
def test_rows_keep_their_targets_and_weights(unit, tmp_path, monkeypatch):
    """Sums do not depend on the order of rows: they differ exactly where the columns of a row were torn apart."""
    table, begin = people(), SpilledRows.__init__

    def slow(rows, *given):
        begin(rows, *given)
        rows._files = Slow(rows._files)

    monkeypatch.setattr(SpilledRows, "__init__", slow)
    monkeypatch.setattr(Slow, "steps", ())
    facts = {"bounds": dplr.Bounds({"a": (0, 1), "b": (0, 1)}), "eps": float("inf"), "classes": (0, 1)}
    options = declared(facts | unit)
    options["mechanism"] = dplr.NoisyGradientDescent(steps=STEPS, standardise="off")
    size = ROWS // PARTS
    rows = pa.Table.from_pandas(table)
    parts = [MemoryPart(rows.slice(start, size), size) for start in range(0, ROWS, size)]
    kept = dplr.fit(dplr.Stream(LocalParts(parts, rows[:0], 2), keep=tmp_path), "y", **options)
    columns = ["a", "b", *(unit[name] for name in ("person", "sample_weight") if name in unit)]
    whole = dplr.fit(table[columns], table["y"], **options)
    assert len(set(Slow.steps)) > 1  # threads
    assert len(Slow.steps) >= PARTS * (3 if unit else 2)
    np.testing.assert_array_equal(kept.released_["gradients"], whole.released_["gradients"])
