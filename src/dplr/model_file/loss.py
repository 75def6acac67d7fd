"""A loss of a user's own as plain values and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dplr.model_file.readers import array, choice, integer, number, table, text
from dplr.model_file.strict_json import refuse
from dplr.problem.losses import Loss
from dplr.problem.losses.knots import FORMS, MOST_KNOTS, Knotted, knotted
from dplr.problem.losses.loss import loss_of

_LOSS = table(
    {
        "name": text,
        "form": choice(*FORMS),
        "width": number(0.0),
        "lipschitz": number(0.0, above=True),
        "smoothness": number(0.0, above=True),
        "first": integer(-MOST_KNOTS, MOST_KNOTS),
        "per_unit": number(2.0**-16, 2.0**16),
        "slopes": lambda where, value: array(where, value, (len(value) if isinstance(value, list) else 0,)),
    }
)


def write_loss(loss: Loss) -> dict[str, Any]:
    """Every constant, and the slope at every knot."""
    knots = loss.knots
    assert knots is not None
    return {
        "name": loss.name,
        "form": knots.form,
        "width": float(loss.width),
        "lipschitz": float(loss.lipschitz),
        "smoothness": float(loss.smoothness),
        "first": knots.first,
        "per_unit": float(knots.per_unit),
        "slopes": knots.values.tolist(),
    }


def read_loss(where: str, value: Any) -> Loss:
    """The loss again; refused where its constants are not at least those of its slopes."""
    read = _LOSS(where, value)
    slopes, per_unit, last = read["slopes"], read["per_unit"], read["first"] + len(read["slopes"]) - 1
    if not len(slopes) >= 2 or last > MOST_KNOTS or not np.abs(slopes).max() > 0 or (np.diff(slopes) < 0).any():
        refuse(f"{where}.slopes", "must be slopes at knots, which never fall", len(slopes))
    if np.frexp(per_unit)[0] != 0.5:
        refuse(f"{where}.per_unit", "must be a power of two", per_unit)
    knots = knotted(read["form"], read["first"], per_unit, slopes)
    if knots != Knotted(read["form"], read["first"], per_unit, slopes.astype("<f8").tobytes()):
        refuse(f"{where}.slopes", "must be rounded to a common grid", slopes[0])
    least = loss_of(read["name"], knots)
    for key in ("lipschitz", "smoothness"):
        if read[key] < getattr(least, key):
            refuse(f"{where}.{key}", f"must be at least {getattr(least, key):g}, as the slopes say", read[key])
    if np.isinf(least.fall):
        refuse(f"{where}.slopes", "must be those of a loss that has a smallest value", slopes[-1])
    return loss_of(read["name"], knots, width=read["width"], lipschitz=read["lipschitz"], smoothness=read["smoothness"])
