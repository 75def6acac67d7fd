"""A loss of a user's own as plain values and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dplr.model_file.readers import array, choice, integer, number, table, text
from dplr.model_file.strict_json import refuse
from dplr.problem.knots import FORMS, MOST_KNOTS, Knotted
from dplr.problem.losses import Loss, loss_of

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
    try:
        knots = Knotted(read["form"], read["first"], read["per_unit"], read["slopes"].astype("<f8").tobytes())
        loss = loss_of(read["name"], knots, width=read["width"])
        return replace(loss, lipschitz=read["lipschitz"], smoothness=read["smoothness"])
    except ValueError as error:
        refuse(where, "must be a loss that its slopes at knots make", str(error))
