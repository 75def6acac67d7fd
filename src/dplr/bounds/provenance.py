"""How learned bounds came about: a public fact beside them, in files and in statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dplr._kit.validation import check_delta, check_eps, sentence
from dplr.bounds.columns import check_keys
from dplr.bounds.units import check_name

KEY = "learned"
_RELATIONS = ("replace_one", "add_remove")
UNITS = ("record", "person")
_KEYS = ("columns", "eps", "delta", "neighbouring", "unit", "outside")


@dataclass(frozen=True, slots=True)
class Provenance:
    """The release that learned bounds.

    Attributes
    ----------
    columns : names of the columns whose bounds or levels it learned, the target among them.
    eps, delta : its cost, which no statement of a fit counts.
    neighbouring, unit : the relation of its promise, and whom it protects: a record, or a person with all their rows.
    outside : share of the records that it let lie beyond each bound.
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
        if not isinstance(values, Mapping):
            raise TypeError(sentence(KEY, "must be a table", values, "`dplr bounds learn` writes it."))
        check_keys(values, _KEYS)
        lacking = [key for key in _KEYS if key not in values]
        if lacking:
            raise ValueError(sentence(KEY, "must say how bounds were learned; missing", lacking))
        names, relation, outside = values["columns"], values["neighbouring"], values["outside"]
        if not isinstance(names, Sequence) or isinstance(names, str) or not names:
            raise TypeError(sentence(f"{KEY}.columns", "must be a list of names", names))
        if relation not in _RELATIONS:
            raise ValueError(sentence(f"{KEY}.neighbouring", f"must be one of {_RELATIONS}", relation))
        if values["unit"] not in UNITS:
            raise ValueError(sentence(f"{KEY}.unit", f"must be one of {UNITS}", values["unit"]))
        if isinstance(outside, bool) or not isinstance(outside, (int, float)) or not 0 < outside < 0.5:
            raise ValueError(sentence(f"{KEY}.outside", "must be a share between 0 and 0.5", outside))
        columns = tuple(check_name(f"{KEY}.columns", name) for name in names)
        eps, delta = check_eps(values["eps"]), check_delta(values["delta"])
        return cls(columns, eps, delta, relation, values["unit"], float(outside))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"columns": list(self.columns)}

    @property
    def fact(self) -> str:
        """The sentence of a statement."""
        cost = f"eps = {self.eps:g}, delta = {self.delta:g}, {self.neighbouring} of a {self.unit}"
        return (
            f"bounds of {', '.join(self.columns)} were learned from private records by a release of its own ({cost}), "
            "which this statement does not count"
        )
