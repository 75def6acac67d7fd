"""A user's own loss: sampled at knots once, checked there, and never shown a record."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_positive, real_number, sentence
from dplr.problem.knots import MOST_KNOTS, Knotted, knotted
from dplr.problem.losses import KERNELS, Loss, loss_of

Vector = NDArray[np.float64]
Function = Callable[[Vector], Any]
_BUILT_IN = (*KERNELS, "linear", "svm", "huber", "poisson", "smooth_huber", "smoothed_hinge")
# Roundings of what the functions return, and of knots.
_ROUNDED = 1e-6
# Of the largest curvature: what a difference of slopes may miss of the curvature between them.
_MISSED = 0.01
# Of the largest slope: a tail that is still falling there is taken to be flat.
_FLAT = 2.0**-10
_PER_UNIT = 128


def margin_loss(
    value: Function,
    slope: Function,
    curvature: Function,
    *,
    name: str = "own",
    lipschitz: float | None = None,
    smoothness: float | None = None,
    reach: float = 16.0,
) -> Loss:
    """A convex loss l(v) of the margin v = y z, with labels y of -1 and 1: for `MarginClassifier`, or as `model`.

    Parameters
    ----------
    value, slope, curvature : callable
        Vectorised functions of v: l, l' and l''.
    name : str, default="own"
        What statements call it: letters, digits, spaces, "_" and "-".
    lipschitz, smoothness : float or None, default=None
        Upper bounds of ``|l'|`` and ``l''``. None for the smallest that hold.
    reach : float, default=16.0
        Margins from -reach to reach are sampled, 128 to the unit; in [1, 256]. Beyond them l' keeps its last value; a
        tail that still falls, by at most a thousandth of the largest slope, is led to 0 there.

    Returns
    -------
    dplr.losses.Loss
        Convex, with a continuous slope that is linear between samples. **That loss is minimised**, and its constants
        are exact, so what the functions do between the samples cannot harm the guarantee.

    Raises
    ------
    ValueError
        A constant is too small, l is not convex, or the functions contradict each other; the message names the margin.
        Or l still falls at the margin `reach`.
    TypeError
        A function cannot be called with an array, or returns something else than numbers.

    Privacy
    -------
    The functions are called here, with margins of a public grid, and never see a record. The loss is taken to be
    public: one that was chosen by a look at the private data is not covered.

    See Also
    --------
    dplr.MarginClassifier : A classifier with such a loss.
    dplr.losses.residual_loss : The same for numbers.

    References
    ----------
    Chaudhuri and Monteleoni 2008, Theorem 3; proof: knots.md.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> def value(v):
    ...     return np.sqrt(1 + (v - 2) ** 2) - v
    >>> def slope(v):
    ...     return (v - 2) / np.sqrt(1 + (v - 2) ** 2) - 1
    >>> def curvature(v):
    ...     return (1 + (v - 2) ** 2) ** -1.5
    >>> loss = dplr.losses.margin_loss(value, slope, curvature, lipschitz=2.0, smoothness=1.0, reach=64)
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> est = dplr.fit(X, X[:, 0] > 0, model=loss, mechanism="objective", eps=1.0)
    >>> est.score(X, X[:, 0] > 0) > 0.8
    True
    """
    return _loss_of("margin", value, slope, curvature, name, lipschitz, smoothness, reach)


def residual_loss(
    value: Function,
    slope: Function,
    curvature: Function,
    *,
    name: str = "own",
    lipschitz: float | None = None,
    smoothness: float | None = None,
    reach: float = 16.0,
) -> Loss:
    """A convex loss l(r) of the residual r = z - y, for numbers: for `ResidualRegressor`, or as `model`.

    y is the target as it is scaled: the bounds of the target become [-1, 1], so r is in units of half their distance.

    Parameters
    ----------
    value, slope, curvature : callable
        Vectorised functions of r: l, l' and l''.
    name : str, default="own"
        What statements call it, as in `margin_loss`.
    lipschitz, smoothness : float or None, default=None
        Upper bounds of ``|l'|`` and ``l''``, as in `margin_loss`.
    reach : float, default=16.0
        Residuals from -reach to reach are sampled, as in `margin_loss`.

    Returns
    -------
    dplr.losses.Loss
        As in `margin_loss`.

    Raises
    ------
    ValueError, TypeError
        As in `margin_loss`.

    Privacy
    -------
    The functions are called here, with residuals of a public grid, and never see a record. The loss is taken to be
    public: one that was chosen by a look at the private data is not covered.

    See Also
    --------
    dplr.ResidualRegressor : A regression with such a loss.
    dplr.losses.margin_loss : The same for labels.

    References
    ----------
    Chaudhuri and Monteleoni 2008, Theorem 3; proof: knots.md.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> def curvature(r):
    ...     return 1 / np.cosh(r / 0.1) ** 2
    >>> loss = dplr.losses.residual_loss(
    ...     lambda r: 0.01 * np.logaddexp(r / 0.1, -r / 0.1), lambda r: 0.1 * np.tanh(r / 0.1), curvature
    ... )
    >>> round(loss.lipschitz, 6), round(loss.smoothness, 2)
    (0.1, 1.0)
    """
    return _loss_of("residual", value, slope, curvature, name, lipschitz, smoothness, reach)


def _loss_of(
    form: str, value: Function, slope: Function, curvature: Function, name: str, lipschitz: float | None,
    smoothness: float | None, reach: float,
) -> Loss:  # fmt: skip
    if not isinstance(name, str):
        raise TypeError(sentence("name", "must be a text", name))
    if name in _BUILT_IN:
        raise ValueError(sentence("name", f"must be none of {', '.join(_BUILT_IN)}", name, "Those are built in."))
    largest = MOST_KNOTS // _PER_UNIT // 2
    if not 1 <= check_positive("reach", reach) <= largest:
        raise ValueError(sentence("reach", f"must be between 1 and {largest}", reach))
    last = int(np.ceil(reach * _PER_UNIT))
    places = np.arange(-2 * last, 2 * last + 1) / (2 * _PER_UNIT)  # every second one is a knot
    functions = {"value": value, "slope": slope, "curvature": curvature}
    values, slopes, curvatures = (_called(key, function, places) for key, function in functions.items())
    _check_bound("lipschitz", lipschitz, np.abs(slopes), "|slope|", places)
    _check_bound("smoothness", smoothness, curvatures, "the curvature", places)
    _check_convex(places, values, slopes, curvatures)
    first, at_knots = _flat_ends(-last, slopes[::2], reach)
    knots = knotted(form, first, float(_PER_UNIT), at_knots)
    _check_between(knots, smoothness)
    return loss_of(name, knots, lipschitz=lipschitz or 0.0, smoothness=smoothness or 0.0)


def _called(key: str, function: Function, places: Vector) -> Vector:
    """The values of a function at all places, as finite numbers."""
    if not callable(function):
        raise TypeError(sentence(key, "must be a function of an array of margins", function))
    try:
        with np.errstate(all="ignore"):
            returned = function(places.copy())
    except Exception as error:
        raise TypeError(sentence(key, "must be a function of an array of margins", error)) from error
    try:
        values = np.asarray(returned, np.float64)
    except (TypeError, ValueError):
        raise TypeError(sentence(key, "must return numbers", returned)) from None
    if values.shape not in ((), places.shape):
        raise TypeError(sentence(key, "must return one number for each margin", values.shape))
    values = np.broadcast_to(values, places.shape)
    if not np.isfinite(values).all():
        where = places[np.flatnonzero(~np.isfinite(values))[0]]
        raise ValueError(sentence(key, f"must be finite, also at {where:g}", values[~np.isfinite(values)][0]))
    return values


def _check_bound(key: str, bound: float | None, values: Vector, words: str, places: Vector) -> None:
    """Refuse a constant that is smaller than what it bounds."""
    worst = int(values.argmax())
    if bound is not None and check_positive(key, bound) * (1 + _ROUNDED) < values[worst]:
        rule = f"must be at least {words}, which is {values[worst]:.6g} at {places[worst]:g}"
        raise ValueError(sentence(key, rule, bound, "A constant that is too small voids the guarantee; None finds it."))


def _check_convex(places: Vector, values: Vector, slopes: Vector, curvatures: Vector) -> None:
    """Refuse functions that are not the value, the slope and the curvature of one convex loss."""
    step, size = places[1] - places[0], float(np.abs(slopes).max())
    if size == 0:
        raise ValueError(sentence("slope", "must not be 0 everywhere", 0.0))
    _refuse("slope", "must never fall, as the loss is to be convex", np.diff(slopes) < -1e-9 * size, places)
    _refuse("curvature", "must not be negative", curvatures < 0, places)
    rise, room = np.diff(values), 1e-6 * size * step + 1e-12 * np.abs(values).max()
    wrong = (rise < slopes[:-1] * step - room) | (rise > slopes[1:] * step + room)
    _refuse("slope", "must be the derivative of value", wrong, places)
    quotients, missed = np.diff(slopes) / step, _MISSED * max(float(curvatures.max()), size * 1e-6)
    low, high = np.minimum(curvatures[:-1], curvatures[1:]), np.maximum(curvatures[:-1], curvatures[1:])
    _refuse(
        "curvature", "must be the derivative of slope", (quotients < low - missed) | (quotients > high + missed), places
    )


def _refuse(key: str, rule: str, wrong: NDArray[np.bool_], places: Vector) -> None:
    if wrong.any():
        raise ValueError(f"`{key}` {rule}; it is not near {places[np.flatnonzero(wrong)[0]]:g}.")


def _flat_ends(first: int, slopes: Vector, reach: float) -> tuple[int, Vector]:
    """The first knot and the slopes, with ends that come to 0: a loss that falls for ever has no smallest value.

    A tail that still falls is led to 0 beyond its reach, with a quarter of the largest curvature.
    """
    least, most = _FLAT * float(np.abs(slopes).max()), float(np.diff(slopes).max())
    before, after = max(float(slopes[0]), 0.0), max(-float(slopes[-1]), 0.0)
    for end, margin in ((before, -reach), (after, reach)):
        if end > least:
            remedy = "A loss must have come to its smallest value there: make `reach` larger."
            raise ValueError(sentence("slope", f"must have come to 0 at {margin:g}", end, remedy))
    counts = [int(np.ceil(4 * end / most)) for end in (before, after)]
    tails = np.linspace(0, before, counts[0] + 1)[:-1], np.linspace(-after, 0, counts[1] + 1)[1:]
    return first - counts[0], np.maximum.accumulate(np.concatenate((tails[0], slopes, tails[1])))


def _check_between(knots: Knotted, smoothness: float | None) -> None:
    """Refuse a curvature bound that the slopes at knots break: between them the curvature may have been larger."""
    curvatures = np.diff(knots.values) * knots.per_unit
    worst = int(curvatures.argmax())
    if smoothness is not None and curvatures[worst] > smoothness * (1 + _ROUNDED):
        rule = f"must be at least the curvature, which is {curvatures[worst]:.6g} near {knots.places[worst]:g}"
        raise ValueError(sentence("smoothness", rule, smoothness, "None finds it."))


_NARROWEST, _WIDEST = 0.01, 10.0
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
    dplr.losses.Loss
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
    >>> loss = dplr.losses.smoothed_hinge(0.5)
    >>> loss.lipschitz, loss.smoothness
    (1.0, 2.0)
    """
    width = real_number("width", width)
    if not _NARROWEST <= width <= _WIDEST:
        raise ValueError(sentence("width", f"must be between {_NARROWEST:g} and {_WIDEST:g}", width))
    per_unit = 2.0 ** math.ceil(math.log2(_PIECES / width))
    first = math.floor((1 - width) * per_unit)
    places = np.arange(first, per_unit + 1) / per_unit
    return loss_of("smoothed_hinge", knotted("margin", first, per_unit, -np.clip((1 - places) / width, 0, 1)),
                   width=width)  # fmt: skip
