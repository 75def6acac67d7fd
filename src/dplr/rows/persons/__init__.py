"""Who the persons are and how much each row counts: from ids, weights and labels to `RowWeights`."""

from dplr.rows.persons.class_factors import class_factors
from dplr.rows.persons.counts import PersonCounts, look_alikes
from dplr.rows.persons.ids import read_ids, refuse_faults
from dplr.rows.persons.shares import row_weights, shares, weights_of

__all__ = [
    "PersonCounts", "class_factors", "look_alikes", "read_ids", "refuse_faults", "row_weights", "shares", "weights_of",
]  # fmt: skip
