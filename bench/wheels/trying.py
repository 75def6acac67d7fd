"""A wheel in a bare environment: installed, run as the README says, its bits compared, its tests run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from bench.wheels.places import Place, place

ROOT = Path(__file__).parents[2]
# Each is installed where it has a wheel for the interpreter; tests without one are skipped, or fail when collected.
FOR_TESTS = [
    "dp-accounting>=0.6,<0.7",
    "pytest",
    "pytest-benchmark",
    "hypothesis",
    "pandas",
    "click",
    "tqdm",
    "matplotlib",
    "jinja2",
    "pyarrow",
    "polars",
]
LONGEST = "7200"  # seconds of a run of tests


def try_wheel(named: str, wheels: Sequence[Path], suite: Sequence[str]) -> dict[str, object]:
    """A row of the results: where, which wheel, seconds and milliseconds, versions, and what the tests said."""
    where = place(named)
    try:
        facts = where.facts()
        wheel = fitting(wheels, str(facts["interpreter"]))
        row = {**facts, **measured(where, wheel)}
        return row | (tested(where, suite) if suite else {"passed": "", "failed": "", "skipped": ""})
    finally:
        shutil.rmtree(where.folder)


def fitting(wheels: Sequence[Path], interpreter: str) -> Path:
    """The one for free-threaded Python of that version, or the one for all others."""
    major, minor = interpreter.split()[1].split(".")[:2]
    tag = f"-cp{major}{minor}t-" if interpreter.endswith("t") else "-abi3-"
    found = [wheel for wheel in wheels if tag in wheel.name]
    if len(found) != 1:
        raise SystemExit(f"{interpreter} needs one wheel with {tag} in its name, but there are {len(found)}.")
    return found[0]


def measured(where: Place, wheel: Path) -> dict[str, object]:
    """Install the wheel, without a compiler and without sources, and run the README's first snippet."""
    for file in (wheel, ROOT / "README.md", Path(__file__).with_name("smoke.py")):
        shutil.copy(file, where.folder)
    shutil.copytree(ROOT / "tests" / "bits", where.folder / "bits", ignore=shutil.ignore_patterns("__pycache__"))
    start, before = time.monotonic(), os.times()
    where.run(where.own_python, "-m", "pip", "install", "-q", "--only-binary", ":all:", f"{where.inside}/{wheel.name}")
    installed, after = time.monotonic(), os.times()
    told = json.loads(where.run(where.own_python, "smoke.py", "README.md").stdout)
    bits = where.run(where.own_python, "bits", check=False)
    return {
        "wheel": wheel.name,
        "bytes": wheel.stat().st_size,
        "install_s": round(installed - start, 1),
        "install_cpu_s": round(sum(after[2:4]) - sum(before[2:4]), 1),
        "import_ms": round(told.pop("import_ms")),
        "first_fit_ms": round(told.pop("first_fit_ms")),
        **told,
        "bits": "equal" if bits.returncode == 0 else bits.stdout.splitlines()[-1] if bits.stdout else "no answer",
    }


def tested(where: Place, suite: Sequence[str]) -> dict[str, object]:
    """The tests of these folders, on the installed wheel."""
    pip = [where.own_python, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
    if where.run(*pip, *FOR_TESTS, check=False).returncode:
        for name in FOR_TESTS:
            where.run(*pip, name, check=False)
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        copy = where.folder / "checkout" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy)
    report = where.folder / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", "--junit-xml=../report.xml"]
    # The report is written before the process ends, and on new Pythons workers of joblib may keep it from ending.
    command = ["/usr/bin/timeout", LONGEST, where.own_python, "-m", "pytest", *options, *suite]
    done = where.run("/usr/bin/env", "-C", f"{where.inside}/checkout", *command, check=False)
    print(done.stdout[-3000:])
    if not report.exists():
        raise SystemExit(f"The tests ended early on {where.named}:\n{done.stderr[-3000:]}")
    counts = ET.parse(report).getroot()[0].attrib
    ran, skipped = int(counts["tests"]), int(counts["skipped"])
    failed = int(counts["failures"]) + int(counts["errors"])
    return {"passed": ran - failed - skipped, "failed": failed, "skipped": skipped}
