"""Which columns hold the ids of persons and the weights of rows: public facts beside those of the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dplr._kit.validation import check_count, check_positive, sentence
from dplr.bounds.columns import check_keys

# What a file of bounds and `Bounds.to_dict` call them.
KEYS = ("person", "rows_per_person", "weight")
_MOST_ROWS = 2**20


@dataclass(frozen=True, slots=True)
class UnitColumns:
    """Columns that are not features.

    Attributes
    ----------
    person : the column of ids; None where every row is a unit of privacy of its own.
    rows_per_person : how many rows of one person may count whole.
    weight, weight_max : the column of weights, and what they are clipped to; None for none. Both numbers may stand
        without a name, for ids and weights that are given as arrays.
    """

    person: str | None = None
    rows_per_person: int = 1
    weight: str | None = None
    weight_max: float | None = None

    @classmethod
    def of(
        cls, person: Any, rows_per_person: Any, weight: Any, weight_max: Any, names: Sequence[str] | None
    ) -> UnitColumns:
        """Checked: a column of weights has a number to which they are clipped, and no feature is among them."""
        count = check_rows_per_person(rows_per_person)
        if weight is not None and weight_max is None:
            remedy = "Name the column, and the number that its weights are clipped to."
            raise ValueError(sentence("weight", "must stand beside `weight_max`", (weight, weight_max), remedy))
        for parameter, name in (("person", person), ("weight", weight)):
            if name is not None and check_name(parameter, name) in (names or ()):
                remedy = "Ids and weights are not features: take it out of the features."
                raise ValueError(sentence(parameter, "must not be among the features", name, remedy))
        if person is not None and person == weight:
            raise ValueError(sentence("weight", "must be another column than `person`", weight))
        return cls(person, count, weight, None if weight_max is None else check_positive("weight_max", weight_max))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], names: Sequence[str] | None) -> UnitColumns:
        """The unit columns among the keys that `to_dict` wrote."""
        weight = values.get("weight")
        if weight is None:
            return cls.of(values.get("person"), values.get("rows_per_person", 1), None, None, names)
        if not isinstance(weight, Mapping):
            raise TypeError(sentence("weight", "must be a table", weight, 'Write {column = "w", max = 200}.'))
        check_keys(weight, ("column", "max"))
        if not weight:
            raise ValueError(sentence("weight", "must have column and max", weight, 'Write {column = "w", max = 200}.'))
        return cls.of(
            values.get("person"), values.get("rows_per_person", 1), weight.get("column"), weight.get("max"), names
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values of what is declared."""
        facts: dict[str, Any] = {} if self.person is None else {"person": self.person}
        if self.rows_per_person != 1:
            facts["rows_per_person"] = self.rows_per_person
        if self.weight_max is None:
            return facts
        return {**facts, "weight": ({} if self.weight is None else {"column": self.weight}) | {"max": self.weight_max}}


def check_rows_per_person(value: Any) -> int:
    """A count at which rows still count: their weights are whole numbers of 2^-30."""
    count = check_count("rows_per_person", value)
    if count > _MOST_ROWS:
        remedy = "The noise is as large as if every person had so many rows: take a few."
        raise ValueError(sentence("rows_per_person", f"must be at most {_MOST_ROWS}", count, remedy))
    return count


def check_name(parameter: str, name: Any) -> str:
    """The name of a column, which goes into statements and files."""
    if not isinstance(name, str):
        remedy = "Ids themselves are for `fit`." if parameter == "person" else ""
        raise TypeError(sentence(parameter, "must be the name of a column", type(name).__name__, remedy))
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(sentence(parameter, "must be text that UTF-8 can write", name)) from None
    if not name:
        raise ValueError(sentence(parameter, "must not be empty", name))
    return str.__str__(name)  # a subclass shows itself as it likes
