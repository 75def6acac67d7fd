"""From the fields of a CSV file to numbers and text, block by block, by one rule for each field alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dplr._warnings import DataWarning, warn
from dplr.rows.files.kinds import Kind

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$"


class Fields:
    """Makes columns of blocks, and counts what is no number. Nothing is raised before the last block was seen."""

    def __init__(self, path: str, kinds: Mapping[str, Kind], spellings: Sequence[str]) -> None:
        self._path, self._kinds, self._spellings = path, kinds, spellings
        self._rows = self._ragged = 0
        self._first_ragged: Any = None
        self._bad = dict.fromkeys(kinds, 0)
        self._first_bad = dict.fromkeys(kinds, 0)

    @property
    def refused(self) -> bool:
        """Whether `tell` will raise."""
        return bool(self._ragged) or any(self._bad[name] and not self._kinds[name].replaced for name in self._bad)

    def skip(self, row: Any) -> str:
        """What Arrow asks for a row with another number of fields."""
        self._first_ragged = self._first_ragged or row
        self._ragged += 1
        return "skip"

    def typed(self, columns: Mapping[str, Any]) -> list[Any]:
        """The columns of the next block."""
        found = [self._column(name, fields) for name, fields in columns.items()]
        self._rows += max((len(fields) for fields in columns.values()), default=0)
        return found

    def tell(self) -> None:
        """Raise for rows of other lengths and fields that are no numbers; warn where the bounds replace them."""
        if self._ragged:
            first = self._first_ragged
            found = f"{self._ragged} rows with another number of fields, the first with {first.actual_columns}"
            remedy = "Is the --delimiter right, and is text that holds it quoted?"
            rule = f"must have {first.expected_columns} fields in every row"
            raise ValueError(f"`{self._path}` {rule}; got {found}. {remedy}")
        for name, count in self._bad.items():
            if count:
                self._tell(name, count, self._kinds[name])

    def _tell(self, name: str, count: int, kind: Kind) -> None:
        first = self._first_bad[name]
        found = f"{count} of {self._rows} fields are something else, the first in row {first} below the header"
        if kind.replaced:
            message = (
                f"column {name!r} of `{self._path}` holds numbers; {found}. They count as missing, as the bounds say."
            )
            warn(message, DataWarning)
            return
        raise ValueError(
            f"column {name!r} of `{self._path}` must hold numbers; {found}. Correct them, name them with --missing if "
            "they mean a missing value, or check the column's table in the bounds."
        )

    def _column(self, name: str, fields: Any) -> Any:
        """Text as written, or float64; null where a value is missing."""
        import pyarrow as pa
        from pyarrow import compute

        kind = self._kinds[name]
        if kind.copied:
            return fields
        missing = pa.array([*self._spellings, *([""] if kind.empty else [])], pa.string())
        if kind.text:
            return compute.if_else(compute.is_in(fields, missing), None, fields)
        quick = _plain_numbers(fields, missing)
        if quick is not None:
            return quick
        values, bad = _numbers(fields, missing)
        count = compute.sum(bad).as_py()
        if count and not self._bad[name]:
            self._first_bad[name] = self._rows + compute.index(bad, True).as_py() + 1
        self._bad[name] += count or 0
        return values


def _plain_numbers(fields: Any, missing: Any) -> Any:
    """What `_numbers` makes of fields that are all digits or missing as they stand; None where one may not be.

    Arrow reads the numbers of the rule alike, and other text only as NaN: nan(…).
    """
    import pyarrow as pa
    from pyarrow import compute

    spelt = missing.filter(compute.equal(compute.utf8_trim_whitespace(missing), missing))  # no trimmed field has others
    kept = fields
    if len(spelt):
        kept = compute.if_else(compute.is_in(fields, spelt), None, fields)
    try:
        values = kept.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return None if compute.any(compute.is_nan(values)).as_py() else values


def _numbers(fields: Any, missing: Any) -> tuple[Any, Any]:
    """Values, and which fields are neither a number nor missing."""
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(fields)
    gap = compute.is_in(trimmed, missing)
    lower = compute.utf8_lower(trimmed)
    trimmed = compute.if_else(compute.equal(lower, "true"), "1", trimmed)
    trimmed = compute.if_else(compute.equal(lower, "false"), "0", trimmed)
    good = compute.match_substring_regex(trimmed, _NUMBER)
    bad = compute.and_(compute.invert(good), compute.invert(gap))
    return compute.if_else(compute.and_(good, compute.invert(gap)), trimmed, None).cast(pa.float64()), bad
