"""Public knowledge about columns: bounds, the affine map they define, and the way back to the user's units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._validation import real_number, sentence

GRID = 2.0**20  # rows are snapped to multiples of 2^-20 (decision record 1)
INTERCEPT = 0.5  # the constant appended for the intercept; chosen by measurement (decision record 4)
MAX_FEATURES = 4096  # keeps a row's squared norm exact in float64 with room to spare

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where the scaled rows lie: all that a mechanism may know of the columns.

    Attributes
    ----------
    d : number of features, without the intercept.
    radius : every row has norm at most this.
    half_width : every |x_j| is at most this; None where only the ball is known.
    intercept : the constant appended to every row, 0 for none.
    blocks : (first column, number of columns) of each one-hot block: of these columns at most one is not zero in any
        row, and that one is `half_width`. Needs a half-width.
    """

    d: int
    radius: float = 1.0
    half_width: float | None = None
    intercept: float = 0.0
    blocks: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        """Return the geometry in words."""
        if self.half_width is None:
            domain = f"rows in the ball of radius {self.radius:g}"
        else:
            domain = f"rows in [-{self.half_width:.6g}, {self.half_width:.6g}]^{self.d}"
        return domain + (f", intercept constant {self.intercept:g}" if self.intercept else ", no intercept")


class Bounds:
    """Lower and upper bounds of the columns, from public knowledge such as a codebook. Never from the data.

    Parameters
    ----------
    features : mapping of column name to ``(lower, upper)``, for data frames; or a sequence of such pairs in the order
        of the columns.
    target : for linear regression ``(lower, upper)`` of y; for classifiers the labels. Optional: then y is
        taken to lie in [-1, 1], or to hold conventional labels.

    Raises
    ------
    ValueError
        A bound is not finite, or a lower bound is not below its upper bound.

    Privacy
    -------
    Bounds are assumed public and appear as such in every statement. Values outside are clipped to them. Bounds taken
    from the data's own minimum and maximum void the guarantee.

    Notes
    -----
    The footnote-1 scaling of FM12, but centred where the model has an intercept: a feature x becomes
    ``(x - middle) / (half the range * sqrt(d))``, so rows lie in the cube of half-width 1/sqrt(d) inside the unit ball.

    Examples
    --------
    >>> import dplr
    >>> dplr.Bounds({"age": (18, 99), "smoker": (0, 1)}, target=("no", "yes"))
    Bounds({'age': (18.0, 99.0), 'smoker': (0.0, 1.0)}, target=('no', 'yes'))
    >>> dplr.Bounds([(99, 18)])
    Traceback (most recent call last):
        ...
    ValueError: `bounds` must have lower < upper for column 0; got (99.0, 18.0). A constant column carries no \
information: drop it.
    """

    def __init__(
        self, features: Mapping[str, Sequence[Any]] | Sequence[Sequence[Any]] | NDArray[Any], target: Any = None
    ) -> None:
        self.names: tuple[str, ...] | None = None
        if isinstance(features, Mapping):
            self.names = tuple(str(name) for name in features)
            if len(set(self.names)) < len(self.names):
                raise ValueError(sentence("bounds", "must name every column once", list(features)))
            pairs: Sequence[Any] = list(features.values())
        elif isinstance(features, (Sequence, np.ndarray)) and not isinstance(features, str):
            pairs = list(features)
        else:
            raise TypeError(sentence("bounds", "must be a mapping of names to pairs, or a list of pairs", features))
        if not pairs:
            raise ValueError(sentence("bounds", "must have at least one column", features))
        labels = self.names if self.names is not None else range(len(pairs))
        self.features = tuple(_pair(f"column {label!r}", pair) for label, pair in zip(labels, pairs, strict=True))
        self.target = None if target is None else _target(target)

    def __repr__(self) -> str:
        """Return the constructor call."""
        shown: object = self.features if self.names is None else dict(zip(self.names, self.features, strict=True))
        return f"Bounds({shown!r}, target={self.target!r})" if self.target is not None else f"Bounds({shown!r})"

    def __eq__(self, other: object) -> bool:
        """Compare values."""
        if not isinstance(other, Bounds):
            return NotImplemented
        return (self.names, self.features, self.target) == (other.names, other.features, other.target)

    def __hash__(self) -> int:
        """Hash the values."""
        return hash((self.names, self.features, self.target))

    def for_columns(self, columns: Sequence[str] | None, d: int) -> tuple[Pair, ...]:
        """The pairs in the order of the data's columns; raises ValueError where they do not fit together."""
        if self.names is not None and columns is None:
            raise ValueError(
                f"`bounds` names columns ({', '.join(self.names[:3])}, …), and X has no column names. Pass a data "
                "frame, or give the bounds by position, as a list of pairs."
            )
        if self.names is None or columns is None:
            if len(self.features) != d:
                raise ValueError(
                    sentence("bounds", f"must have one pair for each of the {d} columns of X", len(self.features))
                )
            return self.features
        missing = [column for column in columns if column not in self.names]
        extra = [name for name in self.names if name not in columns]
        if missing or extra:
            raise ValueError(
                f"`bounds` must name exactly the columns of X; missing from the bounds: {missing or 'none'}; "
                f"named but not in X: {extra or 'none'}. Select the columns of X, or add their bounds."
            )
        by_name = dict(zip(self.names, self.features, strict=True))
        return tuple(by_name[column] for column in columns)

    def target_pair(self) -> Pair | None:
        """Bounds of a numeric target, or None when not declared."""
        return None if self.target is None else _pair("the target", self.target)


def _pair(what: str, pair: Any) -> Pair:
    values = _two("bounds", f"must be a pair (lower, upper) for {what}", pair)
    low, high = (real_number(f"bounds of {what}", _plain(value)) for value in values)
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        raise ValueError(sentence("bounds", f"must be finite for {what}", (low, high)))
    if not low < high:
        remedy = "A constant column carries no information: drop it."
        raise ValueError(sentence("bounds", f"must have lower < upper for {what}", (low, high), remedy))
    return low, high


def _target(target: Any) -> tuple[Any, ...]:
    """A range, two labels, or more labels."""
    values = tuple(target) if isinstance(target, (Sequence, np.ndarray)) and not isinstance(target, str) else ()
    if len(values) < 2:
        raise ValueError(sentence("bounds", "must have a pair as target, or more labels", target))
    return values


def _two(parameter: str, rule: str, pair: Any) -> tuple[Any, Any]:
    values = tuple(pair) if isinstance(pair, (Sequence, np.ndarray)) and not isinstance(pair, str) else ()
    if len(values) != 2:
        raise ValueError(sentence(parameter, rule, pair))
    return values[0], values[1]


def _plain(value: Any) -> Any:
    """Numpy booleans and Python booleans are fine as bounds."""
    return int(value) if isinstance(value, (bool, np.bool_)) else value


@dataclass(frozen=True, eq=False, slots=True)
class Prep:
    """How one raw row becomes a scaled row, and how coefficients come back. Frozen, public, picklable.

    Attributes
    ----------
    geometry : where the scaled rows lie.
    shift, scale : (d + 1,) a value v becomes (v - shift) * scale in grid units of 2^-20; the numeric target comes last.
    low, high : (d + 1,) clamp in grid units.
    labels : numeric codes of the negative and the positive label, or None for a numeric target.

    Without bounds the entries of the features are unused: rows are projected onto the ball instead.
    """

    geometry: Geometry
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    labels: Pair | None = None

    def to_user_units(self, coef: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Coefficients and intercept for the user's columns and target, from those of the scaled problem."""
        d = self.geometry.d
        slopes = coef[:d].copy()
        offset = float(coef[d]) * self.geometry.intercept if self.geometry.intercept else 0.0
        if self.geometry.half_width is not None:
            slopes *= self.scale[:d] / GRID
            offset -= float(slopes @ self.shift[:d])
        if self.labels is None:
            y_scale = float(self.scale[d]) / GRID
            slopes /= y_scale
            offset = offset / y_scale + float(self.shift[d])
        return slopes, offset

    def from_user_units(self, coef: NDArray[np.float64], intercept: float) -> tuple[float, ...]:
        """Coefficients of the scaled problem, the intercept's coordinate last: the way back of `to_user_units`."""
        d = self.geometry.d
        slopes, offset = coef.astype(np.float64), intercept
        if self.labels is None:
            y_scale = float(self.scale[d]) / GRID
            slopes, offset = slopes * y_scale, (offset - float(self.shift[d])) * y_scale
        if self.geometry.half_width is not None:
            offset += float(slopes @ self.shift[:d])
            slopes = slopes * GRID / self.scale[:d]
        constant = (offset / self.geometry.intercept,) if self.geometry.intercept else ()
        return (*slopes.tolist(), *constant)


def ball_prep(d: int, fit_intercept: bool, labels: Pair | None) -> Prep:
    """No bounds: rows are projected onto the unit ball, a numeric target is clipped to [-1, 1]."""
    geometry = Geometry(d, intercept=INTERCEPT if fit_intercept else 0.0)
    columns = [(0.0, GRID, -GRID, GRID)] * (d + 1)
    return _prep(geometry, columns, labels)


def box_prep(pairs: Sequence[Pair], fit_intercept: bool, labels: Pair | None, target: Pair | None = None) -> Prep:
    """Map the bounds to a cube inside the unit ball.

    With an intercept the cube is centred at the middle of the bounds. Without one the model must go through the user's
    zero, so columns are only scaled. The half-width c is a whole number of grid units with d c^2 <= 1: clamped rows lie
    in the unit ball exactly.
    """
    d = len(pairs)
    units = float(math.isqrt(2**40 // d))
    geometry = Geometry(
        d,
        half_width=units / GRID,
        intercept=INTERCEPT if fit_intercept else 0.0,
    )
    columns = [_scale_to(pair, fit_intercept, units) for pair in pairs]
    columns.append(_scale_to(target or (-1.0, 1.0), fit_intercept, GRID))
    return _prep(geometry, columns, labels)


def _scale_to(pair: Pair, centred: bool, units: float) -> tuple[float, float, float, float]:
    """Shift, scale and clamp that take a pair of bounds into [-units, units] (whole grid units)."""
    low, high = pair
    shift = low / 2 + high / 2 if centred else 0.0
    reach = high / 2 - low / 2 if centred else max(abs(low), abs(high))
    scale = units / reach if reach else math.inf
    if not math.isfinite(scale):
        raise ValueError(sentence("bounds", "must be further apart", pair, "Express the column in smaller units."))
    return shift, scale, max((low - shift) * scale, -units), min((high - shift) * scale, units)


def _prep(geometry: Geometry, columns: list[tuple[float, float, float, float]], labels: Pair | None) -> Prep:
    """One read-only array for each of shift, scale, low and high, from one tuple a column."""
    table = np.array(columns, dtype=np.float64).T.copy()
    table.flags.writeable = False
    return Prep(geometry, table[0], table[1], table[2], table[3], labels)
