"""Sensitivities of counts of records: in cells, outside a range, and by text. Proofs: quantiles.md."""

from __future__ import annotations


def range_of_excess(record: int) -> int:
    """How far changes of max(records beyond an end - t, 0) differ between ends: one record (quantiles.md, lemma 2)."""
    return record


def range_of_distance(record: int, records_changed: int) -> int:
    """How far changes of the distance of a middle from the median differ (quantiles.md, lemma 3)."""
    return record * records_changed


def records_outside(record: int) -> int:
    """How much the number of records outside a range changes, rounded down to whole units (quantiles.md, lemma 4)."""
    return record + 1


def records_by_text(record: int, records_changed: int) -> int:
    """L1 sensitivity of the numbers of records by text (quantiles.md, lemma 5)."""
    return record * records_changed
