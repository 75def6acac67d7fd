"""What the data holder is told of faulty rows. Never part of a release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from dplr.bounds.scaling import Prep
from dplr.rows.queries.totals import Faults


def refuse(faults: Faults, columns: Mapping[str, int] | None = None) -> None:
    """Raise for rows that cannot count; `columns` says where, if it is known."""
    if faults.non_finite_rows:
        where = ", ".join(f"{name} {count}" for name, count in list((columns or {}).items())[:10])
        policy = " Or declare in the bounds what a missing value counts as." if where else ""
        raise ValueError(
            f"`X` and `y` must be finite; got {faults.non_finite_rows} of {faults.rows} rows with NaN or infinity"
            f"{f' or a missing value ({where})' if where else ''}. "
            f"Remove or impute them, with rules that do not come from the private data.{policy}"
        )
    if faults.unknown_labels:
        raise ValueError(
            f"`y` must hold only its labels; got {faults.unknown_labels} of {faults.rows} rows with another value. "
            "Declare all labels with `classes=` (0 and 1 are the undeclared ones), or clean y."
        )


def warn_outside(faults: Faults, prep: Prep, columns: Sequence[str] | None) -> None:
    """Warn the data holder of clipped values and of unknown levels: wrong units are the commonest mistake in bounds."""
    *features, target = faults.outside
    parts = []
    if prep.geometry.half_width is None and features[0]:
        parts.append(
            f"{features[0] / faults.rows:.2%} of the rows of X lie outside the unit ball and were projected onto it; "
            "declare bounds=dplr.Bounds(...) from public knowledge, or scale X by public constants"
        )
    elif any(features):
        names = prep.layout.names if prep.layout is not None else columns
        listed = _shares(names or [f"column {j}" for j in range(len(features))], features, faults.rows)
        parts.append(
            f"values of X outside their bounds were clipped ({listed}); check the units, or declare wider bounds"
        )
    count = len(faults.marks) // 2
    parts += _unknown(faults.marks[:count], prep, columns or (), faults.rows)
    if any(faults.marks[count:]):
        listed = _shares(columns or (), faults.marks[count:], faults.rows)
        parts.append(f"missing values of X count as the bounds say ({listed})")
    if target:
        parts.append(
            f"{target / faults.rows:.2%} of y lies outside its bounds and was clipped; they are the target of "
            "dplr.Bounds(...), or [-1, 1] where none is declared"
        )
    if parts:
        message = ". ".join(parts) + ". (For the data holder: these shares are not private.)"
        warnings.warn(message, UserWarning, stacklevel=2)


def _unknown(marks: Sequence[int], prep: Prep, columns: Sequence[str], rows: int) -> list[str]:
    """What undeclared values count as: they are zero in all columns, and so is a level without a column."""
    declared = () if prep.layout is None else prep.layout.columns
    referred = {j for j, column in enumerate(declared) if getattr(column, "reference", None) is not None}
    parts = []
    for places, counted in ((set(range(len(marks))) - referred, "none"), (referred, "the reference")):
        chosen = [count if j in places else 0 for j, count in enumerate(marks)]
        if any(chosen):
            rule = f"values of X that are no declared level count as {counted}"
            parts.append(f"{rule} ({_shares(columns, chosen, rows)}); check how levels are written")
    return parts


def _shares(names: Sequence[str], counts: Sequence[int], rows: int) -> str:
    shares = [f"{name} {count / rows:.2%}" for name, count in zip(names, counts, strict=True) if count]
    return ", ".join(shares[:10]) + (", …" if len(shares) > 10 else "")
