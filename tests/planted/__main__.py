"""Plant faults in copies of the installed package, one in each, and see the tests of the table turn red.

``python tests/planted`` tries every fault, ``python tests/planted NAME`` those of these names, ``--area AREA`` those of
one area, and ``python tests/planted --list`` prints the names of their tests for a shell. It exits with 1 where a test
is green on its fault, or is not green without it. The results of a full run are written to bench/results/planted.csv.
"""

import argparse
import concurrent.futures
import csv
import pathlib
import shlex
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from planted_copies import Outcome, plant, run_tests
from planted_table import ROOT, SUITES, Fault, areas, read

RESULTS = ROOT / "bench" / "results" / "planted.csv"
SOUND = Fault("sound", "", "", (), ())


def attempt(fault):
    """The outcome of a fault's tests on a copy with it."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        try:
            plant(fault, pathlib.Path(folder))
        except ValueError as error:
            return Outcome("broken", 0.0, (), str(error))
        return run_tests(pathlib.Path(folder), fault.tests, fault.suite)


def unsound(faults):
    """What pytest says of the named tests of these faults on a copy without a fault, where they are not green."""
    said = []
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        plant(SOUND, pathlib.Path(folder))
        for suite in SUITES:
            tests = sorted({test for fault in faults if fault.suite == suite for test in fault.tests})
            outcome = run_tests(pathlib.Path(folder), tests, suite, ()) if tests else None
            if outcome is not None and outcome.colour != "green":
                said.append(outcome.said)
    return said


def _select(asked):
    """The faults that are asked for; raises SystemExit for a name that no fault has."""
    faults = read()
    names, strange = {fault.name for fault in faults}, set(asked.names)
    if strange - names:
        sys.exit(f"no fault has the name {', '.join(sorted(strange - names))}")
    if asked.names:
        return [fault for fault in faults if fault.name in strange]
    return [fault for fault in faults if asked.area in (None, fault.area)]


def _write(rows):
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "area", "suite", "tests", "outcome", "seconds"])
        for fault, outcome in rows:
            tests = " ".join(fault.tests)
            writer.writerow([fault.name, fault.area, fault.suite, tests, outcome.colour, f"{outcome.seconds:.1f}"])


def main():
    """Try the faults, print a table, and end with 1 unless each is red."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of faults; none for all")
    parser.add_argument("--area", choices=list(areas()), help="the faults of one area")
    parser.add_argument("--jobs", type=int, default=1, help="copies at once")
    parser.add_argument("--list", action="store_true", help="print the names of their tests, and run none")
    asked = parser.parse_args()
    faults, rows = _select(asked), []
    if asked.list:
        tests = {test for fault in faults if fault.suite == "default" for test in fault.tests}
        print(shlex.join(sorted(tests)))
        return
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        without = pool.submit(unsound, faults)
        for fault, outcome in zip(faults, pool.map(attempt, faults), strict=True):
            rows.append((fault, outcome))
            print(f"{outcome.colour:7} {outcome.seconds:6.1f} s  {fault.area:28} {fault.name}", flush=True)
            if outcome.colour != "red":
                print(outcome.said)
    complaints = without.result()
    print(*complaints, sep="\n", end="\n" if complaints else "")
    counts = {colour: sum(outcome.colour == colour for _, outcome in rows) for colour in ("red", "green", "broken")}
    print(f"{len(rows)} faults: " + ", ".join(f"{count} {colour}" for colour, count in counts.items()))
    print("the tests are green without a fault" if not complaints else "some tests are not green without a fault")
    if not asked.names and asked.area is None:
        _write(rows)
    sys.exit(bool(complaints) or counts["red"] < len(rows))


if __name__ == "__main__":
    main()
