"""Build the wheels, and try them in bare environments: `make wheels`.

    python -m bench.wheels python3.11 python3.14t /other/root:/usr/bin/python3.15
    python -m bench.wheels python3.12 --built --suite tests/core tests/estimators

The exit status is 1 where no interpreter is here, bits differ or a test fails.

Results of other interpreters stay in bench/results/wheels.csv; the page docs/develop/releasing.md is written anew.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.scale.written import write_rows
from bench.wheels.building import ROOT, build_all
from bench.wheels.page import PAGE, WHEELS, with_tables
from bench.wheels.trying import try_wheel


def main() -> int:
    """Build, try, write; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pythons", nargs="+", help="commands, or ROOT:PATH; those that are not here are left out")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "wheels")
    parser.add_argument("--built", action="store_true", help="try the wheels that are there, and build none")
    parser.add_argument("--suite", nargs="*", default=[], help="folders of tests to run on each interpreter")
    asked = parser.parse_args()
    pythons = [python for python in asked.pythons if is_here(python)]
    if not pythons:
        print(f"None of these interpreters is here: {', '.join(asked.pythons)}.", file=sys.stderr)
        return 1
    if not asked.built:
        shutil.rmtree(asked.out, ignore_errors=True)
        build_all([python for python in pythons if python.endswith("t")], asked.out)
    wheels = sorted(asked.out.glob("*.whl"))
    rows = [try_wheel(python, wheels, asked.suite) for python in pythons]
    for row in rows:
        keep(row)
    found = [sentence for row in rows for sentence in faults(row)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


def faults(row: Mapping[str, object]) -> list[str]:
    """What is wrong with a wheel on one interpreter; tests that were not run are no fault."""
    found = [] if row["bits"] == "equal" else [f"{row['interpreter']}: other bits: {row['bits']}"]
    return found + ([f"{row['interpreter']}: {row['failed']} tests failed"] if row["failed"] else [])


def is_here(python: str) -> bool:
    """Whether the command starts; those of pyenv may be there and refuse."""
    root, _, command = python.rpartition(":")
    if root:
        return Path(root + command).exists()
    found = shutil.which(python)
    here = bool(found) and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    print(f"{python}: {found if here else 'not here, left out'}", file=sys.stderr)
    return here


def keep(row: Mapping[str, object]) -> None:
    """Write the row in place of the interpreter's old one: its counts of tests were those of another wheel."""
    rows = list(csv.DictReader(WHEELS.open())) if WHEELS.exists() else []
    others = [other for other in rows if other["interpreter"] != row["interpreter"]]
    write_rows(WHEELS, sorted([*others, row], key=by_version))
    PAGE.write_text(with_tables(PAGE.read_text()))


def by_version(row: Mapping[str, object]) -> list[int]:
    """3.9 before 3.11."""
    version = str(row["interpreter"]).split()[1]
    return [*map(int, version.removesuffix("t").split(".")), version.endswith("t")]


if __name__ == "__main__":
    sys.exit(main())
