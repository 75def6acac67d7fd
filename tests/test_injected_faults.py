"""Faults in the middle of a fit: a sample of those that `bench.scale.faults` injects, and its table in the guide."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import dplr
from bench.scale.faults import page

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and of files are those of Linux")
ROOT = pathlib.Path(__file__).parents[1]


def inject(*options, package=None):
    """Faults, in a process without threads, which can be forked."""
    folder = pathlib.Path(dplr.__file__).parents[1] if package is None else package
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT)))}
    command = [sys.executable, "-m", "bench.scale.faults", *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)


@pytest.mark.thorough
def test_a_sample_of_all_faults_ends_with_the_same_bits_or_a_clear_error():
    done = inject("--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    (count,) = re.findall(r"^(\d+) faults, 0 wrong$", done.stdout, re.MULTILINE)
    assert int(count) >= 12


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "mechanism", "module", "good", "bad", "complaint"), [
    (
        "rewritten, same size, between", "fm", "rows/files/stamp.py",
        "if (now.st_size, now.st_mtime_ns) != (self.size, self.mtime_ns)", "return\n        if False",
        "the model of fit has other bits",
    ),
    (
        "another footer", "fm", "rows/files/stamp.py",
        "if self.moved_ns is not None and", "return\n        if False and",
        "same bits, and not clear error",
    ),
    (
        "driver paused", "objective", "ledger/reservation.py",
        "if transactions.start_drawing(connection, self.token) != self._count", "if False",
        "released 1 times too often",
    ),
    (
        "interrupted", "objective", "noise/__init__.py", "self._waiting[0]()", "pass",
        "spent 0.0 for 1 draws",
    ),
])  # fmt: skip
def test_the_faults_find_a_broken_package(tmp_path, kind, mechanism, module, good, bad, complaint):
    shutil.copytree(pathlib.Path(dplr.__file__).parent, tmp_path / "dplr")
    broken = tmp_path / "dplr" / module
    text = broken.read_text()
    assert good in text
    broken.write_text(text.replace(good, bad))
    count = "3" if kind == "interrupted" else "1"  # some interrupts come before the noise
    done = inject("--kinds", kind, "--mechanisms", mechanism, "--no-cluster", "--count", count, package=tmp_path)
    assert done.returncode == 1, done.stdout
    assert re.search(complaint, done.stdout + done.stderr)


def test_the_guide_has_the_table_of_the_results():
    assert page.table() in page.PAGE.read_text()


def test_what_was_injected_is_enough_and_no_outcome_was_wrong():
    rows = page.read()
    assert sum(int(row["count"]) for row in rows) >= 200
    for mechanism in ("fm", "objective", "ngd"):
        assert sum(int(row["count"]) for row in rows if row["mechanism"] == mechanism) >= 60
    for row in rows:
        assert row["released twice"] == row["wrong"] == "0"
        assert row["budget right"] == row["count"]
        assert int(row["same bits"]) + int(row["clear error"]) == int(row["count"])
