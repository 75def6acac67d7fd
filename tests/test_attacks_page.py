"""The page of attacks has the figures of the files of results: ``python tests/test_attacks_page.py`` writes them."""

import csv
import pathlib
import re

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


def remade(text):
    """The page with the tables of the results behind their marks."""
    for name, made in {"fuzz": fuzz_table, "soak": soak_table}.items():
        text, count = re.subn(
            rf"(<!-- {name} -->\n\n)(?:\|.*\n)+", lambda mark, made=made: f"{mark[1]}{made()}\n", text
        )
        assert count == 1, name
    return text


def test_the_page_has_the_tables_of_the_results():
    text = PAGE.read_text(encoding="utf-8")
    assert remade(text) == text


def test_the_page_is_short():
    prose = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if not line.startswith("|")]
    assert sum(len(line.split()) for line in prose) <= 500


if __name__ == "__main__":
    PAGE.write_text(remade(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
