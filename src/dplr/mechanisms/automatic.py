"""The mechanism of a fit with `mechanism="auto"`, from public facts alone. Measured: docs/develop/defaults.md."""

from __future__ import annotations

from typing import NamedTuple

from dplr.problem.losses import Loss

AUTO = "auto"
# For labels: n eps above which noisy gradient descent leaves its start. Then the number of classes above which, and n
# eps per pair of classes below which, one release of the sums of all classes beats a share of eps for each class.
_FEW = 250
_SEVERAL, _PER_PAIR = 8, 200


class Choice(NamedTuple):
    """The shorthand of a mechanism, and the reason for its choice."""

    name: str
    reason: str


def choose(loss: Loss, n_rows: int | None, classes: int, eps: float, delta: float) -> Choice:
    """Take the mechanism that was best, or within a percent of it, on the project's own tables.

    delta    where                                                          mechanism
    any      no public number of rows                                       fm, where the loss has an expansion
    0        more than 8 classes, n eps at most 200 for each pair of them   fm, where the loss has an expansion
    0        else                                                           objective
    > 0      one model of labels, n eps at most 250                         objective
    > 0      else                                                           ngd

    `classes` is the number of models, one per class against the rest; 0 for a single model.
    """
    if n_rows is None and loss.slope:
        return Choice("fm", "no public number of rows is declared")
    information = (n_rows or 0) * eps
    if delta == 0 and loss.slope and classes > _SEVERAL and information <= _PER_PAIR * classes**2:
        return Choice("fm", f"{classes} classes share one release")
    if delta == 0:
        return Choice("objective", "delta = 0")
    if loss.classification and not classes and information <= _FEW:
        return Choice("objective", f"n eps is at most {_FEW}")
    few = f", and n eps is above {_FEW}" if loss.classification and not classes else ""
    return Choice("ngd", f"delta > 0{few}")
