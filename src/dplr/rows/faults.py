"""Messages for the data holder about faulty rows. Never part of a release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dplr._kit.validation import describe
from dplr._kit.warnings import DataWarning, warn
from dplr.bounds.layout import Layout
from dplr.rows.exact import Faults
from dplr.rows.labels import Labels
from dplr.rows.tables.table import Target

_NUMBERS = 'For a number as the target use model="linear". '
_SHOWN = 5  # the most values of a target that an error lists
_NARROW = 0.01  # a smaller standard deviation over the declared range means wrong units, or too wide a range


class FaultyRows(ValueError):
    """Rows with a NaN, an infinity or an undeclared label."""

    def __init__(self, message: str, faults: Faults) -> None:
        super().__init__(message)
        self.faults = faults


def refuse(faults: Faults, columns: Callable[[], Mapping[str, int]] = dict) -> None:
    """Raise FaultyRows if a sum saw faulty rows; `columns` counts those that are not finite by column."""
    if faults.non_finite_rows:
        where = ", ".join(f"{name} {count}" for name, count in list(columns().items())[:10])
        policy = " Or declare in the bounds what a missing value counts as." if where else ""
        raise FaultyRows(
            f"`X` and `y` must be finite; got {faults.non_finite_rows} of {faults.rows} rows with NaN or infinity"
            f"{f' or a missing value ({where})' if where else ''}. "
            f"Remove or impute them, with rules that do not come from the private data.{policy}",
            faults,
        )
    if faults.unknown_labels:
        raise FaultyRows(
            f"`y` must hold only its labels; got {faults.unknown_labels} of {faults.rows} rows with another value. "
            "Declare all labels with `classes=`, or clean y; without a declaration the labels are 0 and 1.",
            faults,
        )


def explained(error: FaultyRows, y: Target, labels: Labels | None) -> str:
    """The message of the error, with the values that the target holds instead of labels."""
    if error.faults.non_finite_rows:
        bad = int((~np.isfinite(y.as_float())).sum()) if y.numeric else 0
        return f"{error} In y {bad} of {len(y)} values are missing or not finite." if bad else str(error)
    assert labels is not None
    counts = other_values(y, labels)
    listed = ", ".join(f"{value} ({count})" for value, count in counts.most_common(_SHOWN))
    # Two declared labels may be the ends of a number's range: then most of its values are others.
    several = len(counts) > (1 if labels.conventional else _SHOWN)
    numbers = _NUMBERS if several and labels.classes.dtype.kind in "biuf" and y.holds_numbers else ""
    origin = "by convention" if labels.conventional else "as declared"
    return (
        f"`y` must hold only its labels; got {error.faults.unknown_labels} of {error.faults.rows} rows with another "
        f"value: {listed}{', …' if len(counts) > _SHOWN else ''}. The labels are {labels.classes.tolist()}, {origin}. "
        f"{numbers}Declare all labels with `classes=`, or clean y; without a declaration the labels are 0 and 1. "
        "(For the data holder: values and counts are not private.)"
    )


def other_values(y: Target, labels: Labels) -> Counter[str]:
    """Values of the target that are not labels, as text, with their counts."""
    values = y.values[~np.isin(labels.y, labels.class_codes)]
    return Counter(f"{value:g}" if isinstance(value, float) else describe(value) for value in values.tolist())


@dataclass(slots=True)
class BoundsNotice:
    """Whether the data holder was warned of values outside the bounds: once for all rows of a fit."""

    already: bool = False


def warn_outside(faults: Faults, layout: Layout | None, in_ball: bool, columns: Sequence[str] | None) -> None:
    """Warn the data holder of clipped values and of unknown levels: wrong units are the commonest mistake in bounds."""
    *features, target = faults.outside
    parts = []
    if in_ball and features[0]:
        parts.append(
            f"{features[0] / faults.rows:.2%} of the rows of X lie outside the unit ball and were projected onto it; "
            "declare bounds=dplr.Bounds(...) from public knowledge, or scale X by public constants"
        )
    elif any(features):
        names = columns if layout is None else layout.names
        listed = _shares(names or [f"column {j}" for j in range(len(features))], features, faults.rows)
        parts.append(
            f"values of X outside their bounds were clipped ({listed}); check the units, or declare wider bounds"
        )
    count = len(faults.marks) // 2
    parts += _unknown(faults.marks[:count], layout, columns or (), faults.rows)
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
        warn(message, DataWarning)


def warn_narrow(y: Target, pair: tuple[float, float]) -> None:
    """Warn the data holder of a target that hardly moves within its declared range: noise is in proportion to that."""
    low, high = pair
    with np.errstate(invalid="ignore"):  # faulty numbers are refused later
        share = float(np.std(np.clip(y.as_float(), low, high))) / (high - low)
    if share < _NARROW:
        fact = f"the standard deviation of y is {share:.2g} of its declared range [{low:g}, {high:g}]"
        advice = "Noise grows with that range. Are the units right?"
        warn(f"{fact}. {advice} (For the data holder: this share is not private.)", DataWarning)


def _unknown(marks: Sequence[int], layout: Layout | None, columns: Sequence[str], rows: int) -> list[str]:
    """Sentences about values that are not levels: they count as no level, or as the reference, which has no column."""
    declared = () if layout is None else layout.columns
    referred = {j for j, column in enumerate(declared) if getattr(column, "reference", None) is not None}
    parts = []
    for places, counted in ((set(range(len(marks))) - referred, "none"), (referred, "the reference")):
        counts = [count if j in places else 0 for j, count in enumerate(marks)]
        if any(counts):
            rule = f"values of X that are no declared level count as {counted}"
            parts.append(f"{rule} ({_shares(columns, counts, rows)}); check how levels are written")
    return parts


def _shares(names: Sequence[str], counts: Sequence[int], rows: int) -> str:
    shares = [f"{name} {count / rows:.2%}" for name, count in zip(names, counts, strict=True) if count]
    return ", ".join(shares[:10]) + (", …" if len(shares) > 10 else "")
