"""What the data holder is told of faulty rows. Never part of a release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from dplr.queries import Faults


def refuse(faults: Faults) -> None:
    if faults.non_finite_rows:
        raise ValueError(
            f"`X` and `y` must be finite; got {faults.non_finite_rows} of {faults.rows} rows with NaN or infinity. "
            "Remove or impute them, with rules that do not come from the private data."
        )
    if faults.unknown_labels:
        raise ValueError(
            f"`y` must hold only its labels; got {faults.unknown_labels} of {faults.rows} rows with another value. "
            "Declare all labels with `classes=`, or clean y."
        )


def warn_outside(faults: Faults, bounded: bool, columns: Sequence[str] | None) -> None:
    """Tell the data holder how much was clipped: wrong units are the commonest mistake with bounds."""
    *features, target = faults.outside
    parts = []
    if not bounded and features[0]:
        parts.append(
            f"{features[0] / faults.rows:.2%} of the rows of X lie outside the unit ball and were projected onto it; "
            "declare bounds=dplr.Bounds(...) from public knowledge, or scale X by public constants"
        )
    elif any(features):
        names = columns if columns is not None else [f"column {j}" for j in range(len(features))]
        shares = [f"{name} {count / faults.rows:.2%}" for name, count in zip(names, features, strict=True) if count]
        listed = ", ".join(shares[:10]) + (", …" if len(shares) > 10 else "")
        parts.append(
            f"values of X outside their bounds were clipped ({listed}); check the units, or declare wider bounds"
        )
    if target:
        parts.append(
            f"{target / faults.rows:.2%} of y lies outside its bounds and was clipped; they are the target of "
            "dplr.Bounds(...), or [-1, 1] where none is declared"
        )
    if parts:
        message = ". ".join(parts) + ". (For the data holder: these shares are not private.)"
        warnings.warn(message, UserWarning, stacklevel=2)
