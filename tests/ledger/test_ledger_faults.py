"""A sample of the faults that `make faults` injects, and that the harness sees what a broken ledger does."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import dplr

FAULTS = pathlib.Path(__file__).parent / "faults" / "run.py"
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is written for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="the shim needs a C compiler"),
]


def inject(*options, path=None):
    environment = dict(os.environ) if path is None else {**os.environ, "PYTHONPATH": str(path)}
    command = [sys.executable, str(FAULTS), "--short", *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_a_sample_of_all_faults_overspends_nothing_and_loses_nothing():
    done = inject("--every", "23")
    assert done.returncode == 0, done.stdout + done.stderr
    (count,) = re.findall(r"^(\d+) faults, 0 with", done.stdout, re.MULTILINE)
    assert int(count) > 100


@pytest.mark.parametrize(
    ("experiment", "every", "module", "changes", "complaint"),
    [
        (
            "power",
            "9",
            "ledger/connection.py",
            {"PRAGMA synchronous = EXTRA": "PRAGMA synchronous = FULL"},
            "lost|ledger",
        ),
        (
            "power",
            "4",
            "ledger/file.py",
            {"        sync_folder(folder)": "        _ = sync_folder"},
            "a ledger that was made is gone",
        ),
        (
            "processes",
            "1",
            "ledger/transactions.py",
            {
                '"BEGIN IMMEDIATE", outcome) as': '"SELECT 1", outcome) as',
                'raise\n        connection.execute("COMMIT")': "raise",
                "    time_now = now()\n": "    time_now = now()\n    time.sleep(0.02)\n",  # others read meanwhile
            },
            "overspent",
        ),
        (
            "statements",
            "3",
            "ledger/allotment.py",
            {"            transactions.begin(connection": "            self._ledger.reserve; (connection"},
            "were begun|unclear error",
        ),
    ],
)
def test_the_faults_find_a_broken_ledger(tmp_path, experiment, every, module, changes, complaint):
    shutil.copytree(pathlib.Path(dplr.__file__).parent, tmp_path / "dplr")
    broken = tmp_path / "dplr" / module
    text = broken.read_text()
    for good, bad in changes.items():
        assert good in text
        text = text.replace(good, bad)
    broken.write_text(text)
    done = inject("--every", every, "--only", experiment, path=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(f"BROKEN.*({complaint})", done.stdout)
