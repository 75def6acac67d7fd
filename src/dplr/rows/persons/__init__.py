"""Persons and weights of rows: from ids, weights and labels to `RowWeights`.

Each id becomes one text (`canonical.py`), each text a number (`numbering.py`), and each row a share of its person in
whole units of 2^-30 (`shares.py`). Proof: privacy/unit.md.
"""

from dplr.rows.persons.class_factors import class_factors
from dplr.rows.persons.counts import PersonCounts, look_alikes
from dplr.rows.persons.ids import read_ids, refuse_faults
from dplr.rows.persons.shares import row_weights, shares, weights_of

__all__ = [
    "PersonCounts", "class_factors", "look_alikes", "read_ids", "refuse_faults", "row_weights", "shares", "weights_of",
]  # fmt: skip
