"""How one raw row becomes a scaled row, where scaled rows lie, and the way back to the user's units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.columns import Matrix, Pair, middle
from dplr.bounds.layout import Layout
from dplr.problem.geometry import GRID, INTERCEPT, Geometry
from dplr.problem.losses import log_offset


@dataclass(frozen=True, eq=False, slots=True)
class Prep:
    """How one raw row becomes a scaled row, and how coefficients come back. Frozen, public, picklable.

    Attributes
    ----------
    geometry : where the scaled rows lie.
    shift, scale : (d + 1,) a value v becomes (v - shift) * scale in grid units of 2^-20; the numeric target comes last.
    low, high : (d + 1,) clamp in grid units.
    labels : numeric codes of the negative and the positive label, or None for a numeric target.
    layout : how the columns of a table become those of the model; None where they are the same.
    limits : (2, d) least and greatest value of each column, in the user's units, that a narrowed model tells apart:
        infinite where it is not narrowed; None where none is.
    target : the declared bounds of a numeric target; None for labels, and where none are declared.
    link : `"identity"`, or `"log"` where the exponential of the sum predicts a numeric target.

    Without bounds the entries of the features are unused: rows are projected onto the ball instead.
    """

    geometry: Geometry
    shift: Matrix
    scale: Matrix
    low: Matrix
    high: Matrix
    labels: Pair | None = None
    layout: Layout | None = None
    limits: Matrix | None = None
    target: Pair | None = None
    link: str = "identity"

    @property
    def ends(self) -> Matrix | None:
        """(2, d) least and greatest value of each column, in the user's units: what a fit clips to.

        Those of the narrowed ranges, and of the bounds elsewhere; None where no columns are declared.
        """
        if self.layout is None or self.limits is None:
            return None if self.layout is None else self.layout.ends
        return np.where(np.isfinite(self.limits), self.limits, self.layout.ends)

    def counted(self, rows: Matrix) -> Matrix:
        """Rows (n, d) as the fit counted such rows, in the user's units and not rounded: for predictions.

        Every number is clipped to its bounds or its narrower range; without bounds a row outside the unit ball counts
        as the nearest point of the ball.
        """
        ends = self.ends
        return in_unit_ball(rows) if ends is None else np.clip(rows, *ends)

    @property
    def _log_offset(self) -> float:
        """The log-rate of coefficients of 0: see `log_offset`; 0 without an intercept, and for other links."""
        if self.link != "log" or not self.geometry.intercept or self.target is None:
            return 0.0
        return log_offset(*self.target)

    def predicted(self, sums: Matrix) -> Matrix:
        """Predictions (n,) of a numeric target from the sums of coefficients times values, within its bounds."""
        if self.target is None:
            return sums
        if self.link == "log":
            sums = np.exp(np.minimum(sums, math.log(self.target[1])))
        return np.clip(sums, *self.target)

    def weighted(self, weights: Sequence[float]) -> Prep:
        """The way of rows whose columns are multiplied by these weights; the target and the constant stay.

        A weighted entry lies in the weighted half-width exactly, as rounded products keep the order of their factors.
        """
        factors = np.append(np.asarray(weights[: self.geometry.d], np.float64), 1.0)
        scale, low, high = (part * factors for part in (self.scale, self.low, self.high))
        return replace(self, geometry=self.geometry.weighted(weights), scale=scale, low=low, high=high)

    def narrowed(self, middles: Matrix, half_widths: Matrix) -> Prep:
        """The way of rows whose entries count as the nearest of middle +- half-width, stretched to all of [-c, c].

        Both are (d,), in scaled units. A column of half-width c or more stays as it is. Needs bounds.
        """
        c = self.geometry.half_width
        assert c is not None
        shift, scale, low, high = (part.copy() for part in (self.shift, self.scale, self.low, self.high))
        narrow, units = np.flatnonzero(half_widths < c), c * GRID
        shift[narrow] += middles[narrow] * GRID / scale[narrow]
        scale[narrow] *= c / half_widths[narrow]
        low[narrow], high[narrow] = -units, units
        return self._limited(narrow, shift, scale, low, high)

    def clipped(self, middles: Matrix, half_widths: Matrix) -> Prep:
        """As `narrowed`, and not stretched: coefficients stay those of the same scaled problem."""
        c = self.geometry.half_width
        assert c is not None
        low, high, narrow = self.low.copy(), self.high.copy(), np.flatnonzero(half_widths < c)
        low[narrow], high[narrow] = (middles - half_widths)[narrow] * GRID, (middles + half_widths)[narrow] * GRID
        return self._limited(narrow, self.shift, self.scale, low, high)

    def _limited(self, narrow: NDArray[np.intp], shift: Matrix, scale: Matrix, low: Matrix, high: Matrix) -> Prep:
        """The way with these numbers, and the limits of narrowed columns in the user's units.

        They stay inside the declared bounds in every bit: the way back to units rounds.
        """
        limits = np.full((2, self.geometry.d), [[-np.inf], [np.inf]])
        limits[:, narrow] = shift[narrow] + np.stack([low[narrow], high[narrow]]) / scale[narrow]
        if self.layout is not None:
            limits = np.where(np.isfinite(limits), np.clip(limits, *self.layout.ends), limits)
        return replace(self, shift=shift, scale=scale, low=low, high=high, limits=limits)

    def to_user_units(self, coef: Matrix) -> tuple[Matrix, float]:
        """Coefficients and intercept for the user's columns and target, from those of the scaled problem."""
        d = self.geometry.d
        slopes = coef[:d].copy()
        offset = float(coef[d]) * self.geometry.intercept if self.geometry.intercept else 0.0
        if self.geometry.half_width is not None:
            slopes *= self.scale[:d] / GRID
            offset -= float(slopes @ self.shift[:d])
        if self.labels is None and self.link == "identity":
            y_scale = float(self.scale[d]) / GRID
            slopes /= y_scale
            offset = offset / y_scale + float(self.shift[d])
        return slopes, offset + self._log_offset

    def standardised(self, center: Matrix, factors: Matrix, constant: float) -> Prep:
        """The way to factors * (x - center) instead of x, with another constant for the intercept. Needs bounds.

        Only for sums over rows: coefficients come back as those of x. Nothing here makes sure that such rows lie in the
        unit ball; a row outside it counts as zero in sums of clipped gradients.
        """
        shift, scale, low, high = (part.copy() for part in (self.shift, self.scale, self.low, self.high))
        d, units = self.geometry.d, center * GRID
        shift[:d] += units / scale[:d]
        scale[:d] *= factors
        low[:d], high[:d] = (low[:d] - units) * factors, (high[:d] - units) * factors
        geometry = Geometry(d, half_width=1.0, intercept=constant)
        return Prep(geometry, shift, scale, low, high, self.labels)

    def from_user_units(self, coef: Matrix, intercept: float) -> tuple[float, ...]:
        """Coefficients of the scaled problem, the intercept's coordinate last: the way back of `to_user_units`."""
        d = self.geometry.d
        slopes, offset = coef.astype(np.float64), intercept - self._log_offset
        if self.labels is None and self.link == "identity":
            y_scale = float(self.scale[d]) / GRID
            slopes, offset = slopes * y_scale, (offset - float(self.shift[d])) * y_scale
        if self.geometry.half_width is not None:
            offset += float(slopes @ self.shift[:d])
            slopes = slopes * GRID / self.scale[:d]
        constant = (offset / self.geometry.intercept,) if self.geometry.intercept else ()
        return (*slopes.tolist(), *constant)


def ball_prep(
    d: int, fit_intercept: bool, labels: Pair | None, target: Pair | None = None, link: str = "identity"
) -> Prep:
    """No bounds of columns: rows are projected onto the unit ball; a target is clipped to its bounds, or to [-1, 1]."""
    geometry = Geometry(d, intercept=INTERCEPT if fit_intercept else 0.0)
    return _prep(geometry, [(0.0, GRID, -GRID, GRID)] * d, labels, target, link)


def layout_prep(
    layout: Layout, fit_intercept: bool, labels: Pair | None, target: Pair | None = None, link: str = "identity"
) -> Prep:
    """Map declared columns to a cube and one-hot blocks inside the unit ball.

    With an intercept bounds are centred, so a missing number is mapped to 0 exactly, and the number and its mark are
    one group. Without one the mark is a block of its own. Products are columns like the others (layout.md).
    """
    key = (fit_intercept, labels, target, link)
    made: Prep | None = layout.made.get(key)
    if made is None:
        marked = layout.marked if fit_intercept else ()
        blocks = tuple(block for block in layout.blocks if block[0] - 1 not in marked)
        made = box_prep(layout.pairs, fit_intercept, labels, target, blocks, marked, layout.shared, layout.hats, link)
        made = layout.made[key] = replace(made, layout=layout)
    return made


def box_prep(
    pairs: Sequence[Pair],
    fit_intercept: bool,
    labels: Pair | None,
    target: Pair | None = None,
    blocks: tuple[tuple[int, int], ...] = (),
    marked: tuple[int, ...] = (),
    shared: tuple[tuple[int, int], ...] = (),
    hats: tuple[tuple[int, int, int], ...] = (),
    link: str = "identity",
) -> Prep:
    """Map the bounds to a cube inside the unit ball, and the columns of one-hot blocks to 0 or the cube's half-width.

    With an intercept the cube is centred at the middle of the bounds. Without one the model must go through the user's
    zero, so columns are only scaled. The half-width c is a whole number of grid units. At most one column of
    a block is not zero, nor of a number in `marked` and its mark, nor of a block of numbers in `shared`, so with g
    numbers and blocks a row's squared norm is at most g c^2 <= 1: clamped rows lie in the unit ball exactly. The ranges
    of `shared` columns must be about 0, which then stays 0. The shares of knots in `hats` add up to at most 1, and are
    mapped to at most c - 2^-20: rounded to the grid, two of them add up to at most c (layout.md, lemma 2). The target
    of a log-rate is centred in any case.
    """
    d = len(pairs)
    shares = {j for first, size, _ in hats for j in range(first, first + size)}
    hot = {j for first, size in blocks for j in range(first, first + size)} | {first + 1 for first in marked}
    groups = d - len(hot) + len(blocks) - sum(size - 1 for _, size in shared) - len(shares) + len(hats)
    units = float(math.isqrt(2**40 // groups))
    geometry = Geometry(
        d,
        half_width=units / GRID,
        intercept=INTERCEPT if fit_intercept else 0.0,
        blocks=blocks,
        marked=marked,
        shared=shared,
        hats=hats,
    )
    ends = {True: units, False: units - 1}
    columns = [
        (0.0, ends[j in hot], 0.0, ends[j in hot]) if j in hot | shares else _scale_to(pair, fit_intercept, units)
        for j, pair in enumerate(pairs)
    ]
    return _prep(geometry, columns, labels, target, link)


def in_unit_ball(rows: Matrix) -> Matrix:
    """Rows (n, d) projected onto the unit ball; those inside stay as they are, bit for bit."""
    with np.errstate(over="ignore"):
        outside = np.flatnonzero(~(np.einsum("ij,ij->i", rows, rows) <= 1.0))
    if not len(outside):
        return rows
    counted, far = rows.copy(), rows[outside]
    far /= np.abs(far).max(axis=1, keepdims=True)  # divided out, so that no square overflows
    counted[outside] = far / np.sqrt(np.einsum("ij,ij->i", far, far))[:, None]
    return counted


def _scale_to(pair: Pair, centred: bool, units: float) -> tuple[float, float, float, float]:
    """Shift, scale and clamp that take a pair of bounds into [-units, units] (whole grid units)."""
    low, high = pair
    shift = middle(pair) if centred else 0.0
    reach = high / 2 - low / 2 if centred else max(abs(low), abs(high))
    scale = units / reach if reach else math.inf
    if not math.isfinite(scale):
        raise ValueError(sentence("bounds", "must be further apart", pair, "Express the column in smaller units."))
    return shift, scale, max((low - shift) * scale, -units), min((high - shift) * scale, units)


def _prep(
    geometry: Geometry,
    columns: list[tuple[float, float, float, float]],
    labels: Pair | None,
    target: Pair | None,
    link: str,
) -> Prep:
    """One read-only array for each of shift, scale, low and high, from one tuple a column and one of the target."""
    of_target = _scale_to(target or (-1.0, 1.0), geometry.intercept > 0 or link == "log", GRID)
    table = np.array([*columns, of_target], dtype=np.float64).T.copy()
    table.flags.writeable = False
    target = None if labels is not None else target
    return Prep(geometry, table[0], table[1], table[2], table[3], labels, target=target, link=link)
