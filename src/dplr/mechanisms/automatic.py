"""The mechanism of a fit with `mechanism="auto"`, from public facts alone. Measured in decision records 24 and 54."""

from __future__ import annotations

from typing import NamedTuple

from dplr.problem.losses import Loss

AUTO = "auto"
# For labels: n eps above which noisy gradient descent leaves its start. Then the number of classes above which, and n
# eps per pair of classes below which, one release of the sums of all classes beats a share of eps for each class.
_FEW = 250
_SEVERAL, _PER_PAIR = 8, 200
# For a number: pure noise over Gaussian noise up to which objective perturbation is better with few rows; and up to
# which, with enough rows, where records are added and removed, as its ranges are then the only ones.
_CLEARLY_SMALLER, _FAR_SMALLER = 0.7, 0.6
# n eps from which objective perturbation is ahead of a descent that has few ranges, and above which it no longer is.
_ENOUGH, _PLENTY = 2_500, 50_000


class Choice(NamedTuple):
    """The shorthand of a mechanism, and the reason for its choice."""

    name: str
    reason: str


class PureNoise(NamedTuple):
    """What speaks for pure noise where a delta was asked for, of a number in declared bounds.

    Attributes
    ----------
    ratio : pure noise of objective perturbation over Gaussian noise.
    ranges : the share of the groups of columns that have private ranges.
    replaced : whether records are replaced: with a relation of added records descent has no ranges.
    """

    ratio: float
    ranges: float
    replaced: bool


def choose(
    loss: Loss, n_rows: int | None, classes: int, eps: float, delta: float, pure: PureNoise | None = None
) -> Choice:
    """Take the mechanism that was best, or within a percent of it, on the project's own tables.

    delta    where                                                          mechanism
    any      no public number of rows                                       fm, where the loss has an expansion
    0        more than 8 classes, n eps at most 200 for each pair of them   fm, where the loss has an expansion
    0        else                                                           objective
    > 0      one model of labels, n eps at most 250                         objective
    > 0      a number, where pure noise is worth more (`_pure_reason`)      objective
    > 0      else                                                           ngd

    `classes` is the number of models, one per class against the rest; 0 for a single model. `pure` is None where
    objective perturbation cannot have ranges, or was not measured.
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
    if pure is not None and (reason := _pure_reason(pure, information)):
        return Choice("objective", reason)
    few = f", and n eps is above {_FEW}" if loss.classification and not classes else ""
    return Choice("ngd", f"delta > 0{few}")


def _pure_reason(pure: PureNoise, information: float) -> str:
    """The reason to take objective perturbation for a number, whose noise is then pure; empty for none."""
    if information <= _FEW and pure.ratio <= _CLEARLY_SMALLER:
        return f"n eps is at most {_FEW}, and pure noise at most {_CLEARLY_SMALLER} times Gaussian noise"
    if not pure.replaced and information >= _ENOUGH and pure.ratio <= _FAR_SMALLER:
        return f"descent has no ranges here, and pure noise is at most {_FAR_SMALLER} times Gaussian noise"
    if pure.ranges < 0.5 and pure.ratio <= 1 and _ENOUGH <= information <= _PLENTY:
        return "fewer than half of the columns can have ranges, and pure noise is smaller than Gaussian noise"
    return ""
