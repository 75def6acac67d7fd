"""The short soak, every night; and each of its laws is red where it is broken."""

import csv
import math
import subprocess
import sys

import numpy as np
import pytest
from tests.soak import draws, many_fits, run

import dplr

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and forks")


@linux
@pytest.mark.thorough
def test_a_short_soak_breaks_no_limit():
    done = subprocess.run([sys.executable, run.__file__, "--short"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 6 + len(draws.LAWS)


@linux
@pytest.mark.filterwarnings("ignore")
def test_a_leak_a_repeat_and_a_lost_entry_are_seen(tmp_path):
    kept = []

    def leaking(X, y, turn, ledger):
        kept.append([bytearray(50_000), []])
        return b"the same"

    found = many_fits.soak(tmp_path, 50, math.inf, leaking)
    assert found["repeats"] == 49
    assert found["bytes per fit"] > run.LARGEST_SLOPE[True]
    assert found["blocks per fit"] > run.LARGEST_OBJECTS
    assert found["objects per fit"] > run.LARGEST_OBJECTS
    assert found["unaccounted"] > 0


@linux
@pytest.mark.filterwarnings("ignore")
def test_a_few_fits_break_no_limit(tmp_path):
    found = many_fits.soak(tmp_path, 20, math.inf)
    assert found["repeats"] == found["unaccounted"] == 0
    assert found["entries"] == 2


def kept_per_fit(mechanism, ledger, fits, kept=lambda turn: None):
    """Blocks of memory and objects more for each of so many fits, in that of four stretches which keeps least.

    Caches fill in the first ones; a leak is in all of them.
    """
    X, y = many_fits.rows()
    delta = 0.0 if mechanism in ("fm", "output", "objective") else 1e-6
    sights = np.zeros((5, 2))
    for stretch in range(5):
        for turn in range(fits):
            dplr.fit(X, y, bounds=many_fits.BOUNDS, mechanism=mechanism, n_rows=len(y), ledger=ledger, eps=0.01,
                     delta=delta)  # fmt: skip
            kept(turn)
        sights[stretch] = many_fits.settled()[1:]
    return np.diff(sights, axis=0).min(axis=0) / fits


MECHANISMS = {"ngd": dplr.NoisyGradientDescent(steps=2)} | {name: name for name in many_fits.TURNS if name != "ngd"}


@linux
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pays", [pytest.param(False, marks=pytest.mark.thorough), True])
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_fit_keeps_memory(name, pays, tmp_path):
    ledger = dplr.Ledger(tmp_path / "ledger", eps=1000, delta=0.5) if pays else None
    blocks, objects = kept_per_fit(MECHANISMS[name], ledger, 10 if pays else 40)
    assert objects < run.LARGEST_OBJECTS
    # With a ledger caches fill for hundreds of fits, by two blocks in each; a connection alone would be dozens.
    assert blocks < (5 if pays else run.LARGEST_OBJECTS)


@linux
@pytest.mark.filterwarnings("ignore")
def test_a_text_that_each_fit_keeps_is_seen():
    texts = []
    blocks, objects = kept_per_fit("fm", None, 40, lambda turn: texts.append(f"fit {turn}"))
    assert blocks > 0.9
    assert objects < run.LARGEST_OBJECTS  # it is no object of the collector


@pytest.mark.parametrize("name", draws.LAWS)
def test_draws_have_their_law_and_other_cells_are_seen(name):
    law = draws.LAWS[name]
    number = 200_000 if law.block > 10**5 else 1000
    done, _, chance = draws.count(name, number, 60, seed=1)
    assert done >= 0.9 * number
    assert chance > 1e-4
    observed = np.random.default_rng(1).multinomial(done * 50, np.roll(law.cells, 1))
    if not np.allclose(law.cells, law.cells[0]):
        assert draws.chance_of(observed, law.cells) < draws.SIGNIFICANT
    skewed = law.cells * np.linspace(0.8, 1.2, len(law.cells))
    observed = np.random.default_rng(1).multinomial(done * 50, skewed / skewed.sum())
    assert draws.chance_of(observed, law.cells) < draws.SIGNIFICANT


def test_the_table_of_results_says_which_lines_are_wrong_and_so_does_the_page():
    rows = list(csv.DictReader(run.RESULTS.open()))
    assert {row["part"] for row in rows} == {"fits", "kills", "draws"}
    for row in rows:
        assert row["wrong"] == str(int(run.is_wrong(row["figure"], float(row["value"]), float(row["limit"]))))
    page = (run.ROOT / "docs" / "trust" / "attacks.md").read_text(encoding="utf-8")
    assert ("over its limit" in page) == any(row["wrong"] == "1" for row in rows)
