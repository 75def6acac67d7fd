"""The exact delta of a pair of data sets at a given eps, by integration over the released coefficients."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dplr._kit.validation import check_choice, check_count, sentence
from dplr.auditing._density import LAWS, MECHANISMS, log_density, minimiser
from dplr.auditing._losses import MarginLoss

_MOST_COLUMNS = 2
# The grid reaches as far as the norm of the noise does, except with this probability.
_OUTSIDE = 1e-13
_CHUNK = 200_000


def hockey_stick(
    X: ArrayLike,
    y: ArrayLike,
    X2: ArrayLike,
    y2: ArrayLike,
    *,
    eps: float,
    loss: MarginLoss,
    ridge: float,
    scale: float,
    law: str = "gaussian",
    mechanism: str = "objective",
    w0: ArrayLike = 0.0,
    points: int = 1001,
) -> float:
    """Smallest delta with P(S) <= e^eps P2(S) + delta for every event S of releases, for one pair of data sets.

    It is the integral of max(0, f - e^eps f2) over the coefficients, by the midpoint rule on a grid around the
    minimiser on (X, y): the distance from it is at most the noise's norm, over `ridge` for objective perturbation.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows of one data set, d at most 2. The order of the data sets matters.
    y : array-like of shape (n,)
        Targets of one data set.
    X2 : array-like of shape (n2, d)
        Rows of the other data set.
    y2 : array-like of shape (n2,)
        Targets of the other data set.
    eps : float
        Privacy loss; -inf gives the mass of f, which is 1 up to the error of the rule.
    loss : dplr.auditing.MarginLoss
        The loss.
    ridge : float
        Lam > 0 of the sum form, which is l2 * n_rows.
    scale : float
        Scale of the noise, as in `log_density`.
    law : {"gaussian", "gamma"}, default="gaussian"
        Law of the noise.
    mechanism : {"objective", "output"}, default="objective"
        What the noise is added to.
    w0 : float or array-like of shape (d,), default=0.0
        Public coefficients towards which the ridge pulls.
    points : int, default=1001
        Points of the grid, along each axis.

    Returns
    -------
    float
        The delta, in [0, 1] up to the error of the rule, which falls with the square of the spacing.

    Raises
    ------
    ValueError, TypeError
        Shapes do not agree, there are more than two columns, or a parameter is outside its range.

    Privacy
    -------
    Reads the data without any noise: for data made up for an audit, not for private data.

    See Also
    --------
    dplr.auditing.log_density_ratio : The privacy loss itself.

    Examples
    --------
    CM08, Algorithm 2, as printed at eps = 1 and n * lambda = 0.01: not even (1, 0.15)-private.

    >>> from dplr.auditing import Logistic, hockey_stick
    >>> pair = ([[1.0]], [1.0], [[0.0]], [1.0])
    >>> delta = hockey_stick(*pair, eps=1.0, loss=Logistic(), ridge=0.01, scale=2.0, law="gamma", points=100_001)
    >>> print(f"{delta:.3f}")
    0.153
    """
    check_choice("law", law, LAWS)
    check_choice("mechanism", mechanism, MECHANISMS)
    centre = minimiser(X, y, loss=loss, ridge=ridge, w0=w0)
    d = centre.shape[-1]
    if centre.ndim != 1 or d > _MOST_COLUMNS:
        raise ValueError(sentence("X", f"must be one data set of at most {_MOST_COLUMNS} columns", np.shape(X)))
    if law == "gamma":
        reach = scale * float(special.gammainccinv(d, _OUTSIDE))
    else:
        reach = scale * math.sqrt(2 * float(special.gammainccinv(d / 2, _OUTSIDE)))
    if mechanism == "objective":
        reach /= ridge
    spacing = 2 * reach / check_count("points", points)
    offsets = (np.arange(points) + 0.5) * spacing - reach
    total = 0.0
    for start in range(0, points**d, _CHUNK):
        cells = np.unravel_index(np.arange(start, min(start + _CHUNK, points**d)), (points,) * d)
        coef = centre + np.stack([offsets[cell] for cell in cells], axis=-1)
        log_f, log_f2 = (
            log_density(rows, targets, coef, loss=loss, ridge=ridge, scale=scale, law=law, mechanism=mechanism, w0=w0)
            for rows, targets in ((X, y), (X2, y2))
        )
        excess = -np.expm1(np.minimum(eps + log_f2 - log_f, 0.0))
        total += float((np.exp(log_f) * excess).sum())
    return float(total * spacing**d)
