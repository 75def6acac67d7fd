"""Audits of learned bounds: sound on the package, red on copies in which one line was broken."""

import pytest

from patched_copy import measure_on_a_patched_copy
from quantiles_audit import TEXTS, measure

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# The share of eps, or of delta, that a sound package shows: less would be too much noise.
FLOORS = {
    "numbers": 0.99,
    "numbers, add_remove": 0.99,
    "weights": 0.99,
    "weights, add_remove": 0.99,
    "persons": 0.99,
    "persons, add_remove": 0.99,
    "integer": 0.85,
    "dates": 0.99,
    "steps": 0.5,
    **dict.fromkeys(TEXTS, 0.98),
}
ROUNDING = 1e-9  # of logarithms


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_show_at_most_what_is_allowed_and_nearly_as_much(name):
    assert FLOORS[name] <= measure(name, 0) <= 1 + ROUNDING


HISTOGRAMS, ROWS = "rows/streams/histograms.py", "quantiles/rows.py"
SELECTION, LAW, LEVELS = "quantiles/selection.py", "quantiles/law.py", "quantiles/levels.py"
SENSITIVITY = "privacy/sensitivity.py"
WRITTEN = "values.write_numbers(start, None, piece)"
BROKEN = {
    "cells depend on the largest number": (
        "numbers", HISTOGRAMS, WRITTEN, f"{WRITTEN}; piece /= max(1, np.nanmax(np.abs(piece).clip(0, 1e9)))"
    ),
    "the middle has half its sensitivity": (
        "numbers", SENSITIVITY, 'lemma 3)."""\n    return record * records_changed', 'lemma 3)."""\n    return record'
    ),
    "an end has half its sensitivity": ("numbers", SENSITIVITY, "return record\n", "return record // 2\n"),
    "ends cost more than their share": ("numbers", LAW, "Fraction(3, 10), Fr", "Fraction(4, 10), Fr"),
    "each column costs the whole": ("numbers", LAW, "exact(eps) / (numbers + texts)", "exact(eps)"),
    "records outside are those of half a unit": (
        "numbers", SENSITIVITY, "return record + 1", "return (record + 1) // 2"
    ),
    "one cell counts twice beyond both ends": (
        "dates", SELECTION, "max(before_high[high] - before_low[low], 0)", "before_high[high] - before_low[low]"
    ),
    "steps weigh by the private number of records": (
        "steps", SELECTION, "steps_outwards(records, price.end,", "steps_outwards(total >> 30, price.end,"
    ),
    "rows of a person count whole": (
        "persons", ROWS, "weights = None if data.weights is None else data.weights.of_rows", "weights = None"
    ),
    "weights are not clipped": ("weights", HISTOGRAMS, "(weights * 2.0**BITS)", "(weights * 2.0 ** (BITS + 1))"),
    "a text is kept by its exact number": (
        "texts, replace_one, rows, 1", LEVELS, "if count >= least}", "if sums[text] >= least}"
    ),
    "texts have half their noise": (
        "texts, replace_one, rows, 1", SENSITIVITY, 'lemma 5)."""\n    return record * records_changed',
        'lemma 5)."""\n    return record',
    ),
    "a plan says that one record differs": (
        "texts, replace_one, rows, 1", "quantiles/plan.py", "price, about.records_changed, shared", "price, 1, shared"
    ),
    "half the tail of a threshold is charged twice": (
        "texts, add_remove, rows, 1", LAW, "math.log1p(math.exp(-1 / scale))", "2 * math.log1p(math.exp(-1 / scale))"
    ),
    "thresholds of two columns are at one delta": (
        "texts, add_remove, rows, 2", LAW, "delta / (texts * _MARGIN)", "delta / _MARGIN"
    ),
    "the threshold knows no delta": ("texts, replace_one, rows, 1", LAW, "UNITS - scale * tail", "UNITS"),
    "a person has one text alone": ("texts, replace_one, persons, 1", LAW, "if shared else 0.0", "if False else 0.0"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(fault, tmp_path):
    name, file, line, broken = BROKEN[fault]
    (found,) = measure_on_a_patched_copy("quantiles_audit.py", [name], 0, file, line, broken, tmp_path)
    assert found > 1.05
