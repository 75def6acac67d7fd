"""Fields of a CSV file as numbers and text, block by block; each field is read by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dplr._kit.warnings import DataWarning, warn
from dplr.rows.files.kinds import DECIMALS, Format, Kind

# A number, by the sign between its digits. There are none between thousands: "1.234,5" is no number anywhere.
_NUMBERS = {
    sign: rf"^[+-]?(\d+[{sign}]?\d*|[{sign}]\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$" for sign in DECIMALS
}


class Fields:
    """The columns of blocks of fields, and counts of faulty fields; nothing is raised before the last block."""

    def __init__(self, path: str, kinds: Mapping[str, Kind], form: Format) -> None:
        self._path, self._kinds, self._form = path, kinds, form
        self._rows = self._ragged = 0
        self._first_ragged: Any = None
        self._bad = dict.fromkeys(kinds, 0)
        self._first_bad = dict.fromkeys(kinds, 0)
        # Fields of numbers are trimmed before they are compared, so a spelling with spaces around it never matches.
        # Arrow compares before it trims, and would read a spelling that is a number between spaces as that number.
        self.nulls: list[str] = [*(spelling for spelling in form.spellings if spelling == spelling.strip()), ""]
        self.quick: bool = not any(re.search(_NUMBERS[form.decimal], spelling) for spelling in self.nulls)
        self.quick &= all(kind.empty or kind.text for kind in kinds.values())
        self.slow: set[str] = set()  # columns of numbers that Arrow does not read by itself: true and false, mistakes

    def learn(self, table: Any) -> None:
        """Add columns of numbers that Arrow cannot read, from a table of text; if none is new, it reads none."""
        count = len(self.slow)
        numbers = [name for name, kind in self._kinds.items() if not kind.text]
        self.slow |= {name for name in numbers if not _is_plain(table[name], self.nulls, self._form.decimal)}
        self.quick = len(self.slow) > count

    @property
    def refused(self) -> bool:
        """Whether `tell` will raise."""
        return bool(self._ragged) or any(self._bad[name] and not self._kinds[name].replaced for name in self._bad)

    def typed(self, table: Any, skipped: Sequence[Any]) -> Any:
        """The columns of the next block; None where Arrow read a number that may not be one: nan(…) is NaN."""
        from pyarrow import compute, types

        read = [name for name in self._kinds if types.is_floating(table[name].type)]
        if any(compute.any(compute.is_nan(table[name])).as_py() for name in read):
            return None
        columns = [table[name] if name in read else self._column(name, table[name]) for name in self._kinds]
        self._first_ragged = self._first_ragged or next(iter(skipped), None)
        self._ragged += len(skipped)
        self._rows += table.num_rows
        return type(table).from_arrays(columns, list(self._kinds))

    def tell(self) -> None:
        """Raise for rows of a wrong length and for fields that are not numbers; warn where the bounds replace them."""
        if self._ragged:
            first = self._first_ragged
            fault = f"{self._ragged} rows with another number of fields, the first with {first.actual_columns}"
            remedy = "Is the --delimiter right, and is text that holds it quoted?"
            rule = f"must have {first.expected_columns} fields in every row"
            raise ValueError(f"`{self._path}` {rule}; got {fault}. {remedy}")
        for name, count in self._bad.items():
            if count:
                self._tell(name, count, self._kinds[name])

    def _tell(self, name: str, count: int, kind: Kind) -> None:
        first = self._first_bad[name]
        fault = f"{count} of {self._rows} fields are something else, the first in row {first} below the header"
        if kind.replaced:
            message = (
                f"column {name!r} of `{self._path}` holds numbers; {fault}. They count as missing, as the bounds say."
            )
            warn(message, DataWarning)
            return
        raise ValueError(
            f"column {name!r} of `{self._path}` must hold numbers; {fault}. A number has {self._form.decimal!r} before "
            "its decimals (see --decimal), and nothing between thousands. Correct them, name them with --missing if "
            "they mean a missing value, or check the column's table in the bounds."
        )

    def _column(self, name: str, fields: Any) -> Any:
        """Text as written, or float64; null where a value is missing."""
        import pyarrow as pa
        from pyarrow import compute

        kind = self._kinds[name]
        if kind.copied:
            return fields
        missing = pa.array([*self._form.spellings, *([""] if kind.empty else [])], pa.string())
        if kind.text:
            return compute.if_else(compute.is_in(fields, missing), None, fields)
        values, bad = _numbers(fields, missing, self._form.decimal)
        count = compute.sum(bad).as_py()
        if count and not self._bad[name]:
            self._first_bad[name] = self._rows + compute.index(bad, True).as_py() + 1
        self._bad[name] += count or 0
        return values


def _is_plain(fields: Any, nulls: Sequence[str], decimal: str) -> bool:
    """Whether Arrow reads all fields as numbers, none of them NaN."""
    import pyarrow as pa
    from pyarrow import compute

    missing = compute.is_in(fields, pa.array(nulls, pa.string()))
    present = compute.if_else(missing, None, fields)
    if decimal != "." and compute.any(compute.match_substring(present, ".")).as_py():
        return False
    try:
        values = _cast(present, decimal)
    except pa.ArrowInvalid:
        return False
    return not compute.any(compute.is_nan(values)).as_py()


def _numbers(fields: Any, missing: Any, decimal: str) -> tuple[Any, Any]:
    """Values, and which fields are neither a number nor missing."""
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(fields)
    gap = compute.is_in(trimmed, missing)
    lower = compute.utf8_lower(trimmed)
    trimmed = compute.if_else(compute.equal(lower, "true"), "1", trimmed)
    trimmed = compute.if_else(compute.equal(lower, "false"), "0", trimmed)
    good = compute.match_substring_regex(trimmed, _NUMBERS[decimal])
    bad = compute.and_(compute.invert(good), compute.invert(gap))
    return _cast(compute.if_else(compute.and_(good, compute.invert(gap)), trimmed, None), decimal), bad


def _cast(fields: Any, decimal: str) -> Any:
    """Text as float64; ArrowInvalid where a field is no number."""
    import pyarrow as pa
    from pyarrow import compute

    plain = fields if decimal == "." else compute.replace_substring(fields, decimal, ".")
    return plain.cast(pa.float64())
