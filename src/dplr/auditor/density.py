"""The exact density of what output or objective perturbation releases, and losses in NumPy for it.

Nothing here uses the kernels or the solvers of the package, so that an error there cannot hide itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dplr._kit.validation import check_choice, real_number, sentence

Array = NDArray[np.float64]
LAWS = ("gamma", "gaussian", "gauge")
# Half-width and number of columns of each group of columns, in their order.
Body = Sequence[tuple[float, int]]
MECHANISMS = ("objective", "output")
_NEWTON_STEPS, _HALVINGS = 200, 60
# Where Newton's method stops: the gradient is some tens of roundings of the terms that it sums.
_NEWTON_FLOOR = 1e-14


class MarginLoss(Protocol):
    """A convex loss of the margin z = x.w and the target y, through its first two derivatives in z."""

    def residual(self, margin: Array, y: Array, /) -> Array:
        """First derivative of the loss in the margin."""
        ...

    def weight(self, margin: Array, y: Array, /) -> Array:
        """Second derivative of the loss in the margin, at least 0."""
        ...


@dataclass(frozen=True, slots=True)
class Logistic:
    """Logistic loss log(1 + exp(-y z)) for y in {-1, +1}: a residual of at most 1, and a weight of at most 1/4."""

    def residual(self, margin: Array, y: Array) -> Array:
        """First derivative of the loss in the margin."""
        return -y * special.expit(-y * margin)

    def weight(self, margin: Array, y: Array) -> Array:
        """Second derivative of the loss in the margin."""
        return special.expit(margin) * special.expit(-margin)


def minimiser(X: ArrayLike, y: ArrayLike, *, loss: MarginLoss, ridge: ArrayLike, w0: ArrayLike = 0.0) -> Array:
    """Minimise sum_i loss(x_i.w, y_i) + ridge (w - w0)^2 / 2 by Newton's method; leading axes are separate problems."""
    X, y, start = _checked(X, y, w0, ridge)
    coef = np.broadcast_to(start, (*X.shape[:-2], X.shape[-1])).copy()
    gradient, hessian = _derivatives(X, y, coef, start, loss, ridge)
    norm = np.linalg.norm(gradient, axis=-1)
    for _ in range(_NEWTON_STEPS):
        size = np.linalg.norm(coef, axis=-1) + np.linalg.norm(start, axis=-1)
        floor = _NEWTON_FLOOR * (X.shape[-2] + np.trace(hessian, axis1=-2, axis2=-1) * size)
        if (norm <= floor).all():
            return coef
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        length = np.ones_like(norm)
        for _ in range(_HALVINGS):
            tried = coef - length[..., None] * step
            gradient, hessian = _derivatives(X, y, tried, start, loss, ridge)
            norm = np.linalg.norm(gradient, axis=-1)
            # Up to the minimum on its line a step lowers the objective; one that went past it is halved.
            past = ((gradient * step).sum(-1) < 0) & (norm > floor)
            if not past.any():
                break
            length = np.where(past, length / 2, length)
        coef = tried
    raise ArithmeticError(sentence("ridge", "must be large enough for Newton's method", ridge))


def log_density(
    X: ArrayLike,
    y: ArrayLike,
    coef: ArrayLike,
    *,
    loss: MarginLoss,
    ridge: ArrayLike,
    scale: float,
    law: str = "gamma",
    mechanism: str = "objective",
    w0: ArrayLike = 0.0,
    body: Body | None = None,
) -> Array:
    """Exact log density at `coef` of what a perturbed minimisation of sum_i loss + ridge ||w - w0||^2 / 2 releases.

    Objective perturbation adds b.w to the objective: w is released exactly where b = -gradient(w), so the density is
    h(gradient(w)) det hessian(w) with h the density of b (objective.md, lemma 1). Output perturbation adds the noise
    to the minimiser w*: the density is h(w - w*). The parameters are those of `log_density_ratio`.
    """
    X, y, start = _checked(X, y, w0, ridge)
    check_choice("mechanism", mechanism, MECHANISMS)
    check_choice("law", law, LAWS)
    if not 0 < real_number("scale", scale) < math.inf:
        raise ValueError(sentence("scale", "must be positive and finite", scale))
    _check_body(body, law, X.shape[-1])
    coef = np.asarray(coef, dtype=np.float64)
    if coef.shape[-1:] != X.shape[-1:]:
        raise ValueError(sentence("coef", f"must have {X.shape[-1]} entries on its last axis, as X has", coef.shape))
    if mechanism == "output":
        return log_noise(coef - minimiser(X, y, loss=loss, ridge=ridge, w0=start), scale, law, body)
    gradient, hessian = _derivatives(X, y, coef, start, loss, ridge)
    log_jacobian: Array = np.linalg.slogdet(hessian)[1]
    return log_noise(gradient, scale, law, body) + log_jacobian


def log_density_ratio(
    X: ArrayLike,
    y: ArrayLike,
    X2: ArrayLike,
    y2: ArrayLike,
    coef: ArrayLike,
    *,
    loss: MarginLoss,
    ridge: ArrayLike,
    scale: float,
    law: str = "gamma",
    mechanism: str = "objective",
    w0: ArrayLike = 0.0,
    body: Body | None = None,
) -> Array:
    """Privacy loss at `coef`: log density of the release under (X, y) minus that under (X2, y2).

    Pure eps differential privacy is that its size is at most eps for all neighbours and every `coef`. Rounding errors
    are some 1e-15 times the norm of the gradient over `scale`.

    Parameters
    ----------
    X : array-like of shape (..., n, d)
        Rows of one data set, with the intercept's constant already appended.
    y : array-like of shape (..., n)
        Targets of one data set.
    X2 : array-like of shape (..., n2, d)
        Rows of its neighbour; n2 may differ from n by one.
    y2 : array-like of shape (..., n2)
        Targets of its neighbour.
    coef : array-like of shape (..., d)
        Released coefficients. Leading axes of all arguments broadcast: one pair at many `coef`, or many pairs each at
        its own.
    loss : object with methods residual and weight
        First and second derivative of the loss in the margin z = x.w, as functions of arrays (z, y) of one shape.
    ridge : float or array-like of shape (d,)
        Lam > 0 of the sum form, which is l2 * n_rows: one for all coefficients, or one for each.
    scale : float
        Scale of the noise, in units of a row's gradient (objective) or of `coef` (output). "gamma": the density h(b) is
        proportional to exp(-||b|| / scale), so the norm has the Gamma(d, scale) law; CM08 prints scale = 2 R / eps.
        "gaussian": standard deviation of each coordinate. "gauge": h(b) is proportional to exp(-N(b) / scale), N the
        gauge of `body`.
    law : {"gamma", "gaussian", "gauge"}, default="gamma"
        Law of the noise.
    mechanism : {"objective", "output"}, default="objective"
        What the noise is added to.
    w0 : float or array-like of shape (..., d), default=0.0
        Public coefficients towards which the ridge pulls.
    body : sequence of (float, int) or None, default=None
        Half-width and columns of each group of columns in their order, for the law "gauge": N(b) is the largest sum of
        ``|b_j| / half-width`` over a group. One column is an interval, several are a cross-polytope.

    Returns
    -------
    ndarray
        Log ratios, of the shape of the leading axes.

    Raises
    ------
    ValueError, TypeError
        Shapes do not agree, or a parameter is outside its range.

    Privacy
    -------
    Reads the data without any noise: for data made up for an audit, not for private data.

    See Also
    --------
    dplr.auditor.search : Looks for the worst pair of neighbours.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006, definition 1, as a ratio of densities. Chaudhuri and Monteleoni 2008 (CM08),
    Algorithms 1 and 2; proof: objective.md, lemma 1.

    Examples
    --------
    CM08, Algorithm 2, as printed, at eps = 0.1 and n * lambda = 0.01, on one row; far above 0.1:

    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from dplr.auditor import log_density_ratio
    >>> class Logistic:
    ...     def residual(self, margin, y):
    ...         return -y * expit(-y * margin)
    ...
    ...     def weight(self, margin, y):
    ...         return expit(margin) * expit(-margin)
    >>> w = np.linspace(-5, 5, 100_001)[:, None]
    >>> ratios = log_density_ratio([[1.0]], [1.0], [[0.0]], [1.0], w, loss=Logistic(), ridge=0.01, scale=2 / 0.1)
    >>> print(f"{np.abs(ratios).max():.3f}")
    3.233
    """
    options: dict[str, Any] = {"loss": loss, "ridge": ridge, "scale": scale, "law": law, "mechanism": mechanism}
    first = log_density(X, y, coef, w0=w0, body=body, **options)
    return first - log_density(X2, y2, coef, w0=w0, body=body, **options)


def _check_body(body: Body | None, law: str, d: int) -> None:
    if (body is not None) is not (law == "gauge"):
        raise ValueError(sentence("body", 'must be given for the law "gauge", and for nothing else', body))
    if body is not None and (sum(size for _, size in body) != d or any(width <= 0 or size < 1 for width, size in body)):
        raise ValueError(sentence("body", f"must have positive half-widths and {d} columns in all", body))


def _checked(X: ArrayLike, y: ArrayLike, w0: ArrayLike, ridge: ArrayLike) -> tuple[Array, Array, Array]:
    """Arrays of the right shapes."""
    X, y, w0 = (np.asarray(part, dtype=np.float64) for part in (X, y, w0))
    if X.ndim < 2:
        raise ValueError(sentence("X", "must have rows and columns as its last two axes", X.shape))
    if y.shape[-1:] != X.shape[-2:-1]:
        raise ValueError(sentence("y", f"must have {X.shape[-2]} entries on its last axis, a target a row", y.shape))
    if w0.ndim and w0.shape[-1] != X.shape[-1]:
        raise ValueError(sentence("w0", f"must be 0 or have {X.shape[-1]} entries on its last axis", w0.shape))
    ridges = np.asarray(ridge, dtype=np.float64)
    if ridges.ndim and ridges.shape != X.shape[-1:]:
        raise ValueError(sentence("ridge", f"must be one number or have {X.shape[-1]} entries", ridge))
    if not ((ridges > 0) & (ridges < math.inf)).all():
        raise ValueError(sentence("ridge", "must be positive and finite", ridge, "It is l2 * n_rows."))
    return X, y, w0 if w0.ndim else np.full(X.shape[-1], w0)


def _derivatives(X: Array, y: Array, coef: Array, w0: Array, loss: MarginLoss, ridge: ArrayLike) -> tuple[Array, Array]:
    """Gradient (..., d) and Hessian (..., d, d) of the sum-form objective."""
    margin = (X @ coef[..., None])[..., 0]
    ridges = np.broadcast_to(np.asarray(ridge, dtype=np.float64), X.shape[-1:])
    gradient = ridges * (coef - w0) + (loss.residual(margin, y)[..., None, :] @ X)[..., 0, :]
    hessian = (np.swapaxes(X, -1, -2) * loss.weight(margin, y)[..., None, :]) @ X + np.diag(ridges)
    return gradient, hessian


def log_noise(b: Array, scale: float, law: str, body: Body | None) -> Array:
    """Log density of the noise at b, normalised."""
    d: int = b.shape[-1]
    if body is not None:
        starts = np.cumsum([0, *(size for _, size in body[:-1])])
        widths = np.array([width for width, size in body for _ in range(size)])
        gauge: Array = np.add.reduceat(np.abs(b) / widths, starts, axis=-1).max(axis=-1) / scale
        volume = sum(size * math.log(2 * width) - math.lgamma(size + 1) for width, size in body)
        return -gauge - (d * math.log(scale) + math.lgamma(d + 1) + volume)
    norm: Array = np.linalg.norm(b, axis=-1) / scale
    if law == "gaussian":
        return -(norm**2) / 2 - d * math.log(math.sqrt(2 * math.pi) * scale)
    log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)  # area of the unit sphere
    return -norm - (d * math.log(scale) + math.lgamma(d) + log_sphere)
