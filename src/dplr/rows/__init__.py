"""Private rows and the sums over them: `Rows.total(query, coef, rows)`. Private.

`array.py` sums rows in memory, and `streams/` rows that are read batch by batch. `exact.py`, `scores_at.py` and
`losses.py` have the queries that rows can sum. `files/` and `tables/` read the data of users, and `ids.py` and
`persons.py` assign rows to persons. A mechanism sees sums, never a row.
"""

from __future__ import annotations

from dplr.rows.array import ArrayRows, check_shapes
from dplr.rows.base import Rows
from dplr.rows.faults import BoundsNotice, FaultyRows, explained, other_values, warn_narrow
from dplr.rows.ids import PersonCounts, look_alikes
from dplr.rows.labels import FROM_DATA, LabelRule, Labels, declared_classes
from dplr.rows.persons import class_factors, row_weights
from dplr.rows.predictors import encoded, predictors, warn_of_new
from dplr.rows.tables.encoder import Encoder
from dplr.rows.tables.survey import Survey, of_numbers, survey
from dplr.rows.tables.table import (
    NUMERIC,
    OBJECTS,
    Table,
    Target,
    as_array,
    as_float,
    as_table,
    as_target,
    check_indexes,
    check_unmasked,
)
from dplr.rows.tables.values import numbers
from dplr.rows.weights import ALL, RowWeights, Selection, chosen, every

__all__ = [
    "ALL", "FROM_DATA", "NUMERIC", "OBJECTS", "ArrayRows", "BoundsNotice", "Encoder", "FaultyRows", "LabelRule",
    "Labels", "PersonCounts", "RowWeights", "Rows", "Selection", "Survey", "Table", "Target", "as_array",
    "as_float", "as_table", "as_target", "check_indexes", "check_shapes", "check_unmasked", "chosen", "class_factors",
    "declared_classes", "encoded", "every", "explained", "look_alikes", "numbers", "of_numbers", "other_values",
    "predictors", "row_weights", "survey", "warn_narrow", "warn_of_new",
]  # fmt: skip
