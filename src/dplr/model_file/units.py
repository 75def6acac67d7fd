"""Whom a guarantee protects as plain values and back, and whether all of a file speaks of the same unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dplr.bounds.declared import Bounds, with_numbers
from dplr.fitting.data import declared_unit
from dplr.fitting.planning import rows_sentence
from dplr.model_file.readers import either, integer, list_of, number, table, text
from dplr.model_file.strict_json import refuse
from dplr.privacy.statement import PrivacyStatement
from dplr.privacy.unit import ROW, Unit

_MOST_LABELS = 2**12
_POSITIVE = number(0.0, above=True)
_UNIT = table(
    {
        "person": either(None, text),
        "rows_per_person": integer(1, 2**20),
        "weight_max": either(None, _POSITIVE),
        "class_weights": list_of(table({"label": text, "factor": _POSITIVE}), 0, _MOST_LABELS),
    }
)


def write_unit(unit: Unit) -> dict[str, Any]:
    """A key and plain values; nothing where every row is a unit and counts whole."""
    if unit == ROW:
        return {}
    return {
        "unit": {
            "person": unit.person,
            "rows_per_person": unit.rows_per_person,
            "weight_max": None if unit.weight_max is None else float(unit.weight_max),
            "class_weights": [{"label": label, "factor": float(factor)} for label, factor in unit.class_weights],
        }
    }


def read_unit(where: str, value: Any) -> Unit:
    """The unit that `write_unit` wrote."""
    values = _UNIT(where, value)
    values["class_weights"] = tuple((entry["label"], entry["factor"]) for entry in values["class_weights"])
    unit = Unit(**values)
    if not unit.weighted:
        refuse(where, "must be left out where every row counts whole", str(unit))
    if unit.person == "" or (unit.person is None and unit.rows_per_person != 1):
        refuse(f"{where}.person", "must name the persons", unit.person)
    return unit


def check_unit(values: dict[str, Any], bounds: Bounds | None, statement: PrivacyStatement) -> None:
    """Bounds, labels, columns and assumptions are about the unit of the statement."""
    unit, where = statement.unit, "model.statement.unit"
    numbers = with_numbers(None, unit.rows_per_person, unit.weight_max)
    declared, _ = declared_unit(unit.person, numbers, bounds)
    if bounds is not None and values["bounds"] is not None:  # they hold the numbers; the unit ball's are the unit's
        declared = replace(declared, rows_per_person=bounds.rows_per_person, weight_max=bounds.weight_max)
    if declared != replace(unit, class_weights=()):
        refuse(where, "must be that of the bounds", str(unit))
    column = values.get("weight_column")
    if column is not None and unit.weight_max is None:
        refuse("model.weight_column", "must stand beside weights", column)
    if bounds is not None and bounds.weight not in (None, column):
        refuse("model.weight_column", "must be that of the bounds", column)
    names = [*(values["feature_names"] or ()), *(values["column_names"] or ())]
    for name in (unit.person, column):
        if name is not None and (name in names or unit.person == column):
            refuse(where, "must not name a column of the model, or one column twice", name)
    labels = [] if values["classes"] is None else [str(label) for label in values["classes"].tolist()]
    if unit.class_weights and [label for label, _ in unit.class_weights] != labels:
        refuse(f"{where}.class_weights", f"must be of the labels {labels}", unit.class_weights)
    _check_count(values, statement)


def _check_count(values: dict[str, Any], statement: PrivacyStatement) -> None:
    """The statement has the number of units under replace_one."""
    if statement.neighbouring == "replace_one":
        fact = rows_sentence(values["n_rows"], "replace_one", statement.unit.many)
        if fact not in statement.assumptions:
            rule = f"must count {statement.unit.many}: {fact}"
            refuse("model.statement.assumptions", rule, list(statement.assumptions))
