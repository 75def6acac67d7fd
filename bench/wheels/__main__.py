"""Build the wheels, and try them in bare environments: `make wheels`.

    python -m bench.wheels python3.11 python3.14t /other/root:/usr/bin/python3.15
    python -m bench.wheels python3.12 --built --suite tests/core tests/estimators

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


def main() -> None:
    """Build, try, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pythons", nargs="+", help="commands, or ROOT:PATH; those that are not here are left out")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "wheels")
    parser.add_argument("--built", action="store_true", help="try the wheels that are there, and build none")
    parser.add_argument("--suite", nargs="*", default=[], help="folders of tests to run on each interpreter")
    asked = parser.parse_args()
    pythons = [python for python in asked.pythons if is_here(python)]
    if not asked.built:
        shutil.rmtree(asked.out, ignore_errors=True)
        build_all([python for python in pythons if python.endswith("t")], asked.out)
    wheels = sorted(asked.out.glob("*.whl"))
    for python in pythons:
        keep(try_wheel(python, wheels, asked.suite), bool(asked.suite))


def is_here(python: str) -> bool:
    """Whether the command starts; those of pyenv may be there and refuse."""
    root, _, command = python.rpartition(":")
    if root:
        return Path(root + command).exists()
    found = shutil.which(python)
    here = bool(found) and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    print(f"{python}: {found if here else 'not here, left out'}", file=sys.stderr)
    return here


def keep(row: dict[str, object], ran_suite: bool) -> None:
    """Write the row in place of the interpreter's old one, whose counts of tests stay where none ran now."""
    rows = list(csv.DictReader(WHEELS.open())) if WHEELS.exists() else []
    old = [other for other in rows if other["interpreter"] == row["interpreter"]]
    if old and not ran_suite:
        row |= {name: old[0][name] for name in ("passed", "failed", "skipped")}
    write_rows(WHEELS, sorted([*(other for other in rows if other not in old), row], key=by_version))
    PAGE.write_text(with_tables(PAGE.read_text()))


def by_version(row: Mapping[str, object]) -> list[int]:
    """3.9 before 3.11."""
    version = str(row["interpreter"]).split()[1]
    return [*map(int, version.removesuffix("t").split(".")), version.endswith("t")]


if __name__ == "__main__":
    main()
