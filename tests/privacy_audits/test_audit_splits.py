"""Audits of parts of sorted tables: sound on the package, red on copies whose split is public."""

import pytest

from patched_copy import measure_on_a_patched_copy
from splits_audit import CASES, EPS

RUNS = 300
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", CASES)
def test_neighbours_that_are_kept_sorted_are_told_apart_by_at_most_eps(name):
    assert CASES[name](RUNS) <= EPS


NOISE = "noise/splits.py"
BROKEN = [
    ("replace_one", "        keys = source.words(n)\n", "        keys = Source(5).words(n)\n"),
    ("add_remove", 'source.words(n), side="right")', 'Source(5).words(n), side="right")'),
]


@pytest.mark.parametrize(("relation", "line", "broken"), BROKEN)
def test_audit_is_red_on_a_broken_copy_whose_split_is_public(relation, line, broken, tmp_path):
    names = [f"{release} {relation}" for release in ("holdout", "search")]
    for found in measure_on_a_patched_copy("splits_audit.py", names, RUNS, NOISE, line, broken, tmp_path):
        assert found > 1.3 * EPS
