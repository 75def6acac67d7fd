"""The hinge whose corner is rounded on one side."""

from __future__ import annotations

import math

import numpy as np

from dplr._kit.validation import real_number, sentence
from dplr.problem.losses.knots import knotted
from dplr.problem.losses.loss import Loss, loss_of

LEAST_WIDTH, LARGEST_WIDTH = 0.01, 10.0
# Pieces of the corner: where `width` is a power of two they fit it exactly, else its ends are rounded over one piece.
_PIECES = 256


def smoothed_hinge(width: float = 0.5) -> Loss:
    """Hinge loss that is quadratic where 1 - width <= y z <= 1: a loss for `MarginClassifier`.

    With v = y z: 0 for v > 1, (1 - v)^2 / (2 width) within, 1 - v - width / 2 for v < 1 - width. Nothing that is at
    least 1 costs anything, unlike with the Huber hinge of `HuberSVC`, whose corner lies around 1.

    Parameters
    ----------
    width : float, default=0.5
        Width of the corner, in [0.01, 10]. A wider corner has less curvature, which costs less of eps.

    Returns
    -------
    dplr.Loss
        With slopes of at most 1, and second derivatives of at most 1 / width.

    Raises
    ------
    ValueError, TypeError
        `width` is not such a number.

    Privacy
    -------
    A public constant: nothing of any data is in it.

    See Also
    --------
    dplr.MarginClassifier : Takes it as `loss`.
    dplr.HuberSVC : The hinge whose corner lies around 1.

    References
    ----------
    Shalev-Shwartz and Zhang 2013, section 1.

    Examples
    --------
    >>> import dplr
    >>> loss = dplr.smoothed_hinge(0.5)
    >>> loss.lipschitz, loss.smoothness
    (1.0, 2.0)
    """
    width = real_number("width", width)
    if not LEAST_WIDTH <= width <= LARGEST_WIDTH:
        raise ValueError(sentence("width", f"must be between {LEAST_WIDTH:g} and {LARGEST_WIDTH:g}", width))
    per_unit = 2.0 ** math.ceil(math.log2(_PIECES / width))
    first = math.floor((1 - width) * per_unit)
    places = np.arange(first, per_unit + 1) / per_unit
    return loss_of("smoothed_hinge", knotted("margin", first, per_unit, -np.clip((1 - places) / width, 0, 1)),
                   width=width)  # fmt: skip
