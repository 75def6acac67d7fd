"""What is public beside the columns: the ids of persons, the weights of rows, and how bounds were learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dplr._kit.validation import check_count, check_delta, check_eps, check_positive
from dplr.bounds.columns import check_keys, check_text, require

LEARNED = "learned"
UNIT_KEYS = ("person", "rows_per_person", "weight")  # of a file of bounds, and of `Bounds.to_dict`
UNIT_DEFAULTS: dict[str, Any] = {"person": None, "rows_per_person": 1, "weight": None, "weight_max": None}
_MOST_ROWS = 2**20  # of a person, at which rows still count: their weights are whole numbers of 2^-30
_WEIGHT = 'Write {column = "w", max = 200}.'


def check_units(
    person: Any, rows_per_person: Any, weight: Any, weight_max: Any, names: Sequence[str] | None
) -> tuple[str | None, int, str | None, float | None]:
    """The facts of ids and weights: weights have a number to which they are clipped, and neither is a feature."""
    count = check_count("rows_per_person", rows_per_person)
    remedy = "The noise is as large as if every person had so many rows: take a few."
    require(count <= _MOST_ROWS, "rows_per_person", f"must be at most {_MOST_ROWS}", count, remedy)
    remedy = "Name the column, and the number that its weights are clipped to."
    both = weight is None or weight_max is not None
    require(both, "weight", "must stand beside `weight_max`", (weight, weight_max), remedy)
    remedy = "Ids and weights are not features: take it out of the features."
    for parameter, name in (("person", person), ("weight", weight)):
        apart = name is None or check_name(parameter, name) not in (names or ())
        require(apart, parameter, "must not be among the features", name, remedy)
    require(person is None or person != weight, "weight", "must be another column than `person`", weight)
    return person, count, weight, None if weight_max is None else check_positive("weight_max", weight_max)


def read_units(values: Mapping[str, Any]) -> dict[str, Any]:
    """What `write_units` wrote among other keys; `check_units` looks at it."""
    units, weight = {name: values.get(name, UNIT_DEFAULTS[name]) for name in UNIT_KEYS}, values.get("weight")
    if weight is None:
        return units
    require(isinstance(weight, Mapping), "weight", "must be a table", weight, _WEIGHT, TypeError)
    check_keys(weight, ("column", "max"))
    require(len(weight) > 0, "weight", "must have column and max", weight, _WEIGHT)
    return units | {"weight": weight.get("column"), "weight_max": weight.get("max")}


def write_units(
    person: str | None, rows_per_person: int, weight: str | None, weight_max: float | None
) -> dict[str, Any]:
    """Plain values of what is declared."""
    facts: dict[str, Any] = {} if person is None else {"person": person}
    if rows_per_person != 1:
        facts["rows_per_person"] = rows_per_person
    if weight_max is not None:
        facts["weight"] = ({} if weight is None else {"column": weight}) | {"max": weight_max}
    return facts


def check_name(parameter: str, name: Any) -> str:
    """The name of a column, which goes into statements and files."""
    remedy = "Ids themselves are for `fit`." if parameter == "person" else ""
    named = isinstance(name, str)
    require(named, parameter, "must be the name of a column", type(name).__name__, remedy, TypeError)
    check_text(parameter, name)
    require(name != "", parameter, "must not be empty", name)
    return str.__str__(name)  # a subclass shows itself as it likes


@dataclass(frozen=True, slots=True)
class Provenance:
    """The release that learned bounds of columns, the target among them; no statement of a fit counts its cost.

    It protects a record, or a person with all their rows, and let a share `outside` of them lie beyond each bound.
    """

    columns: tuple[str, ...]
    eps: float
    delta: float
    neighbouring: str
    unit: str
    outside: float

    @classmethod
    def from_dict(cls, values: Any) -> Provenance:
        """Checked values of a table of a bounds file."""
        remedy = "`dplr bounds learn` writes it."
        require(isinstance(values, Mapping), LEARNED, "must be a table", values, remedy, TypeError)
        keys = tuple(cls.__dataclass_fields__)
        check_keys(values, keys)
        lacking = [key for key in keys if key not in values]
        require(not lacking, LEARNED, "must say how bounds were learned; missing", lacking)
        names, outside = values["columns"], values["outside"]
        listed = isinstance(names, Sequence) and not isinstance(names, str) and len(names) > 0
        require(listed, f"{LEARNED}.columns", "must be a list of names", names, "", TypeError)
        for key, known in (("neighbouring", ("replace_one", "add_remove")), ("unit", ("record", "person"))):
            require(values[key] in known, f"{LEARNED}.{key}", f"must be one of {known}", values[key])
        share = isinstance(outside, (int, float)) and not isinstance(outside, bool) and 0 < outside < 0.5
        require(share, f"{LEARNED}.outside", "must be a share between 0 and 0.5", outside)
        columns = tuple(check_name(f"{LEARNED}.columns", name) for name in names)
        eps, delta = check_eps(values["eps"]), check_delta(values["delta"])
        return cls(columns, eps, delta, values["neighbouring"], values["unit"], float(outside))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"columns": list(self.columns)}

    @property
    def fact(self) -> str:
        """The sentence of a statement."""
        cost = f"eps = {self.eps:g}, delta = {self.delta:g}, {self.neighbouring} of a {self.unit}"
        return (
            f"bounds of {', '.join(self.columns)} were learned from private records by a release of its own ({cost}), "
            "which this statement does not count"
        )
