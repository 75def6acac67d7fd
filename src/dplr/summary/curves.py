"""The effect of each number on a prediction, as a curve: values at its knots, from coefficients and public facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dplr._kit import markup
from dplr._kit.extras import pandas
from dplr._kit.validation import describe, sentence
from dplr.bounds.columns import TRANSFORMS, Curve, Numeric, middle
from dplr.bounds.layout import Layout
from dplr.privacy.estimand import Estimand
from dplr.rows.tables.encoder import write_column
from dplr.summary.render import CANNOT_SAY

Matrix = NDArray[np.float64]

_SHOWN = 12  # lines of a curve's text


@dataclass(frozen=True, slots=True)
class ColumnCurve:
    """The effect of one number, piecewise linear, less its mean over the bounds.

    Attributes
    ----------
    column : str
        Name of the column of the table.
    group : str
        Level of another column to which the curve belongs, such as "work=Private"; empty for the curve of all rows.
    label : str
        Label of the model, with more than two classes; else empty.
    knots : tuple of float
        Where the curve bends, its ends among them, in the user's units.
    values : tuple of float
        Effects there, in units of the prediction, or of log odds; nan where the released numbers cannot say.
    low, high : tuple of float
        Ends of the band, one for each value; empty where there is none. Infinite where the numbers cannot say.
    slope, slope_low, slope_high : float
        Average slope from the lower to the upper bound, and its interval; the ends are nan where there is none.
    variation : float
        Root mean square of the curve over the bounds, each place counting alike: how much the column matters.

    Privacy
    -------
    Post-processing of one release and of public facts: no further privacy loss.

    See Also
    --------
    dplr.results.Curves : All curves of a model.

    Examples
    --------
    >>> from dplr.results import ColumnCurve
    >>> ColumnCurve("age", "", "", (18.0, 99.0), (-1.0, 1.0), (), (), 0.02, float("nan"), float("nan"), 0.58).knots
    (18.0, 99.0)
    """

    column: str
    group: str
    label: str
    knots: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    slope: float
    slope_low: float
    slope_high: float
    variation: float

    @property
    def title(self) -> str:
        """The column, with its group and label."""
        group = f" for {self.group}" if self.group else ""
        return self.column + group + (f" ({self.label})" if self.label else "")

    @property
    def strength(self) -> float:
        """The largest effect at a knot over half of its band; -1 without a band."""
        bands = [(value, high - low) for value, low, high in zip(self.values, self.low, self.high, strict=False)]
        said = [2 * abs(value) / width if width else math.inf for value, width in bands if math.isfinite(width)]
        return max(said, default=-1.0)

    @property
    def _rows(self) -> list[tuple[str, str, str]]:
        """Knot, effect and band as text; no band where there is none, or where the effect cannot be said."""
        rows = []
        for k, (knot, value) in enumerate(zip(self.knots, self.values, strict=True)):
            if math.isfinite(value):
                band = f"[{self.low[k]:.4g}, {self.high[k]:.4g}]" if self.low else ""
                rows.append((f"{knot:.6g}", f"{value:.4g}", band))
            else:
                rows.append((f"{knot:.6g}", CANNOT_SAY, ""))
        return rows

    def __str__(self) -> str:
        lines = [f"  {knot:>10}  {value:>10}  {band}".rstrip() for knot, value, band in self._rows]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        """Return a line for each knot, for notebooks."""
        return markup.piece(self.title, markup.excerpt(_heads([self]), self._rows, "knots"))


@dataclass(frozen=True, slots=True)
class Curves(Sequence[ColumnCurve]):
    """All curves of a model, the one with the largest variation first.

    Attributes
    ----------
    curves : tuple of ColumnCurve
        The curves.
    estimand : str
        What the values are of.
    bands : str
        What the bands are, in a sentence; empty where there are none.

    Privacy
    -------
    Post-processing of one release and of public facts: no further privacy loss.

    See Also
    --------
    dplr.LogisticRegression.effects : Make them.
    dplr.plots.plot_curves : Draw them.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 10, (20_000, 2))
    >>> y = np.abs(X[:, 0] - 5)
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(0, 5))
    >>> curves = dplr.fit(X, y, model="linear", bounds=bounds.with_curves(3), eps=float("inf")).effects(level=None)
    >>> curves[0].column, [round(value, 1) for value in curves[0].values]
    ('column 0', [2.5, -2.5, 2.5])
    """

    curves: tuple[ColumnCurve, ...]
    estimand: str
    bands: str = ""

    @overload
    def __getitem__(self, key: int | str) -> ColumnCurve: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[ColumnCurve, ...]: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self.curves[key]
        names = [curve.column for curve in self.curves]
        if key not in names:
            raise KeyError(sentence("column", f"must be one of {describe(list(dict.fromkeys(names)))}", key))
        return self.curves[names.index(key)]

    def __len__(self) -> int:
        return len(self.curves)

    def __iter__(self) -> Iterator[ColumnCurve]:
        return iter(self.curves)

    def records(self) -> list[dict[str, Any]]:
        """Make a table of values, for auditors: one row for each knot of each curve.

        Returns
        -------
        list of dict
            With `column`, `group`, `label`, `knot`, `value`, `low` and `high`; None where a number cannot be said.

        Privacy
        -------
        Post-processing of what was released.
        """
        rows = []
        for curve in self.curves:
            blank = (math.nan,) * len(curve.knots)
            parts = zip(curve.knots, curve.values, curve.low or blank, curve.high or blank, strict=True)
            for numbers in parts:
                plain = [number if math.isfinite(number) else None for number in numbers]
                named = dict(zip(("knot", "value", "low", "high"), plain, strict=True))
                rows.append({"column": curve.column, "group": curve.group, "label": curve.label} | named)
        return rows

    def to_frame(self) -> Any:
        """Make a pandas frame of `records`.

        Returns
        -------
        pandas.DataFrame
            One row for each knot of each curve.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.

        Privacy
        -------
        Post-processing of what was released.
        """
        return pandas().DataFrame(self.records())

    def importance(self) -> dict[str, float]:
        """Rank the columns by how much their curves vary.

        Returns
        -------
        dict of str to float
            Column to the largest variation of its curves, the largest first.

        Privacy
        -------
        Post-processing of what was released. Places within the bounds count alike, as how many rows lie at each of
        them is private.
        """
        largest: dict[str, float] = {}
        for curve in self.curves:
            largest[curve.column] = max(largest.get(curve.column, 0.0), curve.variation)
        return dict(sorted(largest.items(), key=lambda pair: -pair[1]))

    @property
    def _title(self) -> str:
        return f"{self.estimand}, less its mean over the bounds, at each knot"

    def __str__(self) -> str:
        return "\n".join([self._title, *map(str, self.curves), *([self.bands] if self.bands else [])])

    def _repr_html_(self) -> str:
        """Return the curves for notebooks, the one with the largest variation first."""
        bands = markup.paragraph(self.bands) if self.bands else markup.NOTHING
        rows = [(curve.title, *cells) for curve in self.curves for cells in curve._rows]
        return markup.piece(self._title, markup.excerpt(["", *_heads(self.curves)], rows, "knots"), bands)


def _heads(curves: Sequence[ColumnCurve]) -> list[str]:
    """Headings of their knots; of bands where there are any."""
    return ["knot", "effect", *(["band"] if any(curve.low for curve in curves) else [])]


@dataclass(frozen=True, eq=False, slots=True)
class Points:
    """Places along one column, and what a model's columns are there.

    Attributes
    ----------
    column, group : as in `ColumnCurve`.
    knots : (m,) in the user's units, increasing.
    rows : (m, n_columns) the columns of the model there, less their mean over the bounds; 0 for columns that stay.
    places : (m,) on the scale of the transform.
    """

    column: str
    group: str
    knots: Matrix
    rows: Matrix
    places: Matrix

    def of(self, columns: NDArray[np.intp]) -> Points:
        """These places, with some of the columns of the model."""
        return replace(self, rows=self.rows[:, columns])

    def variation(self, values: Matrix) -> float:
        """Root mean square of a curve over the bounds."""
        starts, ends, steps = values[:-1], values[1:], np.diff(self.places)
        squares = float(((starts * starts + starts * ends + ends * ends) / 3) @ steps)
        return math.sqrt(max(squares / (self.places[-1] - self.places[0]), 0.0))

    @property
    def slope(self) -> Matrix:
        """(n_columns,) Factors of the coefficients in the average slope per unit."""
        return np.asarray((self.rows[-1] - self.rows[0]) / (self.knots[-1] - self.knots[0]))


def points_of(layout: Layout, counted: Callable[[Matrix], Matrix], ranges: Matrix) -> list[Points]:
    """The places of every number of a layout, and of its curves for each level; `ranges` (n_columns, 2) may narrow it.

    Along one column all others stay: a number at its middle, where products with it are 0, and levels at none.
    """
    every = []
    for place, (name, column) in enumerate(zip(layout.features, layout.columns, strict=True)):
        if not isinstance(column, Numeric):
            continue
        knots, places = _knots(column, ranges[layout.firsts[place]] if column.number else None)
        for group, start in _groups(layout, place):
            rows = counted(_rows(layout, place, knots, start))
            every.append(Points(name, group, knots, rows - _mean(rows, places), places))
    return every


def curves_of(points: Sequence[Points], coef: Matrix, label: str, bands: Bands | None) -> list[ColumnCurve]:
    """The curves of one model with these coefficients (n_columns,)."""
    curves = []
    for one in points:
        values, low, high = one.rows @ coef, (), ()
        slope, ends = float(one.slope @ coef), (math.nan, math.nan)
        if bands is not None:
            estimates, lows, highs = bands(np.vstack([one.rows, one.slope]))
            values, slope = np.where(np.isnan(estimates[:-1]), math.nan, estimates[:-1]), float(estimates[-1])
            low, high, ends = tuple(lows[:-1].tolist()), tuple(highs[:-1].tolist()), (float(lows[-1]), float(highs[-1]))
        curves.append(
            ColumnCurve(
                one.column, one.group, label, tuple(one.knots.tolist()), tuple(values.tolist()), low, high, slope,
                *ends, one.variation(one.rows @ coef),
            )
        )  # fmt: skip
    return curves


Bands = Callable[[Matrix], tuple[Matrix, Matrix, Matrix]]
"""From factors (m, n_columns) of coefficients to estimates and both ends (m,)."""


def ordered(curves: Sequence[ColumnCurve]) -> tuple[ColumnCurve, ...]:
    """The columns with the largest variation first; the curves of one column stay together."""
    largest: dict[str, float] = {}
    for curve in curves:
        largest[curve.column] = max(largest.get(curve.column, 0.0), curve.variation)
    return tuple(sorted(curves, key=lambda curve: -largest[curve.column]))


def words_of(estimand: Estimand | None, label: str) -> str:
    """The quantity of a curve's values, and the label that it is about, if any."""
    quantity = "score" if estimand in (None, Estimand.MARGIN) else str(estimand).replace("-", " ")
    return f"Effect on the {quantity}{label and f' of {label}'}"


def _knots(column: Numeric, narrow: Matrix | None) -> tuple[Matrix, Matrix]:
    """Where the effect of a number bends, in the user's units and on the scale of its transform."""
    places = set(column.places if isinstance(column, Curve) else column.range)
    low, high = column.range
    if narrow is not None:
        places |= {float(end) for end in narrow if low < end < high}
    on_scale = np.array(sorted(places))
    inverse = TRANSFORMS[column.transform].back
    knots = np.array([min(max(inverse(place), column.lower), column.upper) for place in on_scale.tolist()])
    knots[0], knots[-1] = column.lower, column.upper
    return knots, on_scale


def _groups(layout: Layout, place: int) -> list[tuple[str, int]]:
    """The curve of all rows, and one for each level that a product multiplies the column by: its name and column."""
    groups = [("", -1)]
    for product in layout.products:
        if place not in product.places or product.square:
            continue
        partner = product.places[1 - product.places.index(place)]
        factor = layout.columns[partner]
        if factor.number is None and not isinstance(factor, Curve):
            first = layout.firsts[partner]
            groups += [(layout.names[first + k], first + k) for k in range(factor.block)]
    return groups


def _rows(layout: Layout, place: int, knots: Matrix, level: int) -> Matrix:
    """Rows of the model along one column, with one level set, or none."""
    rows = np.zeros((len(knots), layout.width))
    for column, first in zip(layout.columns, layout.firsts, strict=False):
        if column.number:
            rows[:, first] = middle(column.number)
    write_column(knots, layout.columns[place], rows, layout.firsts[place])
    if level >= 0:
        rows[:, level] = 1.0
    starts = layout.firsts[len(layout.columns) :]
    for start, product in zip(starts, layout.products, strict=True):
        factors = [layout.firsts[factor] for factor in product.places]
        product.write(rows, factors, rows[:, start : start + product.width])
    return rows


def _mean(rows: Matrix, places: Matrix) -> Matrix:
    """(n_columns,) Mean of piecewise linear functions over the bounds, on the scale of the transform."""
    weights = np.zeros(len(places))
    steps = np.diff(places)
    weights[:-1] += steps / 2
    weights[1:] += steps / 2
    return np.asarray(weights / weights.sum() @ rows)
