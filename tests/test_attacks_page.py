"""The page of attacks has the figures of the files of results, and each of them is fit to be shown."""

import csv
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "trust" / "attacks.md"
RESULTS = ROOT / "bench" / "results"
pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="not in a checkout")


def read(name):
    return list(csv.DictReader((RESULTS / name).open(encoding="utf-8")))


def table(head, rows):
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def fuzz_table():
    """Sums over all recorded runs of each door."""
    rows = read("fuzz.csv")
    sums = []
    for entry in dict.fromkeys(row["entry"] for row in rows):
        here = [row for row in rows if row["entry"] == entry]
        counts = [sum(int(row[name]) for row in here) for name in ("cases", "accepted", "refused", "known", "findings")]
        sums.append([entry, *(f"{count:,}" for count in counts)])
    return table(["door", "cases", "taken", "refused", "known", "new faults"], sums)


def soak_table():
    rows = [[f"{r['part']}: {r['subject']}", f"{int(r['count']):,}", r["figure"], r["value"]] for r in read("soak.csv")]
    return table(["what", "how many", "figure", "value"], rows)


@pytest.mark.parametrize("made", [fuzz_table, soak_table])
def test_the_page_has_the_table_of_the_results(made):
    assert made() in PAGE.read_text(encoding="utf-8")


def test_the_page_is_short():
    prose = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if not line.startswith("|")]
    assert sum(len(line.split()) for line in prose) <= 500
