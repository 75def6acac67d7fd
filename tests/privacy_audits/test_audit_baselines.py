"""Audits of noisy tables: sound on the package, red on copies in which one line was broken."""

import pytest

from baselines_audit import CASES, measure
from patched_copy import measure_on_a_patched_copy

# The share of eps that a sound package shows: less would be too much noise. The threshold hides the rest.
FLOORS = {
    "full": 0.6,
    "full, add_remove": 0.7,
    "empty": 0.55,
    "empty, add_remove": 0.7,
    "large": 0.6,
    "filter": 0.6,
    "filter of empty cells": 0.4,
    "filter, add_remove": 0.6,
    "sample": 0.55,
    "sample of empty cells": 0.5,
    "lowest count": 0.4,
    "whole fit": 0.1,
    "theory": 1 - 1e-8,
    "theory, add_remove": 1 - 1e-8,
    "theory of a small eps": 1 - 1e-5,
}


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_enough_for_the_audit_to_have_power(name):
    eps = CASES[name].eps
    assert FLOORS[name] * eps <= measure(name, 1_200) <= eps


SENSITIVITY, LAW, TABLE = "privacy/sensitivity.py", "baselines/law.py", "baselines/table.py"
HITS, BASE = "baselines/hits.py", "baselines/_base.py"
NOISE, KEPT = "values = counts + two_sided(source, len(counts), law.stop)", "kept = values >= theta"
PASSED, ABOVE = "passed = hits(Words(source), cells, *law.passing(theta))", "above = theta + geometric("
GIVEN = "return geometric(source, count, stop) - geometric(source, count, stop)"
TAKEN, SAMPLED = "return self._take(model, subject, plan, released)", "self._sampled(*cells, facts.n_rows, source)"
BROKEN = [
    # Replacing a record is charged as removing one; noise of one record for the table of all.
    ("full; theory", SENSITIVITY, "    return records_changed\n", "    return 1\n"),
    ("theory, add_remove", LAW, "decimal.Decimal(eps) / sensitivity", "decimal.Decimal(eps) / sensitivity * 2"),
    # The ratio a is rounded down.
    ("theory; theory of a small eps", LAW, "- _MARGIN) * RATE_UNITS)", "- _MARGIN) * RATE_UNITS) + 1"),
    # Empty cells have too little noise, or other noise than cells with rows.
    ("empty", TABLE, PASSED, f"{PASSED}; passed = passed[passed % 4 != 0]"),
    ("lowest count", TABLE, ABOVE, "above = theta + 1 + geometric("),
    ("filter of empty cells", TABLE, PASSED, "passed = hits(Words(source), cells, *law.passing(3 * theta))"),
    ("empty", TABLE, "empty = passed[~_among(passed, positions)]", "empty = passed"),
    # The threshold is applied to true counts; large counts have no noise; noise that has one side alone.
    ("filter; filter, add_remove", TABLE, KEPT, "kept = counts >= theta"),
    ("large", TABLE, NOISE, f"{NOISE}; values = np.where(counts < 100, values, counts)"),
    ("full", HITS, GIVEN, "return geometric(source, count, stop)"),
    # A count of theta is left out where rows are.
    ("lowest count", TABLE, KEPT, "kept = values > theta"),
    # A sample of the true counts; a sample of the cells that hold rows.
    ("sample", BASE, SAMPLED, SAMPLED.replace("*cells", "positions, counts")),
    ("sample of empty cells", BASE, SAMPLED,
        SAMPLED.replace("*cells", "*(each[np.isin(cells[0], positions)] for each in cells)")),
    # The model knows more than the table: the mean of y.
    ("whole fit", BASE, TAKEN,
        TAKEN.replace("return ", "") + "; self.coef_ = self.coef_ + 1e-3 * np.mean(y); return self"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "file", "line", "broken"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(names, file, line, broken, tmp_path):
    cases = names.split("; ")
    found = measure_on_a_patched_copy("baselines_audit.py", cases, 1_000, file, line, broken, tmp_path)
    assert all(eps > CASES[name].eps for name, eps in zip(cases, found, strict=True))
