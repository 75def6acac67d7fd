"""The short soak, every night; and each of its laws is red where it is broken."""

import csv
import subprocess
import sys

import numpy as np
import pytest
from tests.soak import draws, many_fits, run

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and forks")


@linux
@pytest.mark.thorough
def test_a_short_soak_breaks_no_limit():
    done = subprocess.run([sys.executable, run.__file__, "--short"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 5 + len(draws.LAWS)


@linux
@pytest.mark.filterwarnings("ignore")
def test_a_leak_a_repeat_and_a_lost_entry_are_seen(tmp_path):
    kept = []

    def leaking(X, y, turn, ledger):
        kept.append([bytearray(50_000), []])
        return b"the same"

    found = many_fits.soak(tmp_path, 200, 60, leaking)
    assert found["repeats"] == 199
    assert found["bytes per fit"] > run.LARGEST_SLOPE[True]
    assert found["objects per fit"] > run.LARGEST_OBJECTS
    assert found["unaccounted"] > 0


@linux
@pytest.mark.filterwarnings("ignore")
def test_a_few_fits_break_no_limit(tmp_path):
    found = many_fits.soak(tmp_path, 40, 60)
    assert found["repeats"] == found["unaccounted"] == 0
    assert found["entries"] == 4


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
