"""A sample of the faults that `make faults` injects, and that the harness sees what a broken ledger does."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import dplr

FAULTS = pathlib.Path(__file__).parent / "faults" / "run.py"
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is written for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="the shim needs a C compiler"),
]


def inject(*options, path=None):
    environment = None
    if path is not None:
        import os

        environment = {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, str(FAULTS), "--short", *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_a_sample_of_all_faults_overspends_nothing_and_loses_nothing():
    done = inject("--every", "11")
    assert done.returncode == 0, done.stdout + done.stderr
    (count,) = re.findall(r"^(\d+) faults, 0 with", done.stdout, re.MULTILINE)
    assert int(count) > 150


@pytest.mark.parametrize(
    ("experiment", "every", "good", "bad"),
    [
        ("power", "5", "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF"),
        ("power", "1", "        _sync(folder)", "        _ = _sync"),
        ("processes", "1", "connection.execute(begin)", 'connection.execute("SELECT 1")'),
    ],
)
def test_the_faults_find_a_broken_ledger(tmp_path, experiment, every, good, bad):
    shutil.copytree(pathlib.Path(dplr.__file__).parent, tmp_path / "dplr")
    store = tmp_path / "dplr" / "_ledger_store.py"
    text = store.read_text()
    assert good in text
    text = text.replace(good, bad).replace('raise\n        connection.execute("COMMIT")', "raise")
    if experiment == "power":
        text = store.read_text().replace(good, bad)
    store.write_text(text)
    done = inject("--every", every, "--only", experiment, path=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout
