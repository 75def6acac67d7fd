"""`make sanitized` and `make threads` run tests that exist and enter every kernel."""

import csv
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "Makefile").is_file(), reason="not in a checkout")
# Functions of each kernel, and how many of them these tests entered: counted by gcov on a build at -O0. The others are
# pickling, which is refused, paths for other processors, and queries that only longer tests ask.
ENTERED = ROOT / "bench" / "results" / "kernels_entered.csv"


def listed(name):
    """Files of a list of the Makefile."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    (value,) = re.findall(rf"^{name} := (.*)$", text, re.MULTILINE)
    return value.split()


@pytest.mark.parametrize("name", ["SANITIZED_TESTS", "THREAD_TESTS"])
def test_every_file_and_test_of_the_lists_exists(name):
    for entry in listed(name):
        path, _, test = entry.partition("::")
        text = (ROOT / path).read_text()
        assert not test or f"def {test}(" in text, entry


def test_every_kernel_was_entered():
    kernels = {path.stem for path in (ROOT / "src" / "dplr" / "_core").glob("*.pyx")}
    rows = {row["kernel"]: row for row in csv.DictReader(ENTERED.open())}
    assert set(rows) == kernels
    for row in rows.values():
        assert 1 <= int(row["entered"]) <= int(row["functions"])
