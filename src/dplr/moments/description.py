"""The columns of released moments in numbers: means, shares, standard deviations, correlations, variance inflation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit.extras import pandas
from dplr.bounds.columns import INDICATOR, Bins, Column, Curve, Levels
from dplr.estimators._subject import facts_of
from dplr.inference.description import correlation, deviation, mean, upper_variance
from dplr.inference.determination import Squares, inflation
from dplr.inference.intervals import check_level
from dplr.moments import printing
from dplr.moments.law import LAPLACE
from dplr.privacy.statement import alarms
from dplr.problem.geometry import GRID
from dplr.summary.columns import choose

if TYPE_CHECKING:
    from dplr.moments.released import ReleasedMoments

_CLIPPED = "Means and standard deviations are of values clipped to the declared bounds, and not of the values beyond."
_SHARES = "The mean of a level, a bin or a mark of missing values is its share; that of a knot is its mean share."
_MISSING = "A missing value counts as the middle of the bounds in the mean and the deviation of {names}."
_REST = "The share of {names} is what is in none of the other columns: values that are not declared count to it."
_INTERVALS = (
    "Intervals count sampling and noise, and hold for columns of any law within their bounds: those of normal columns "
    "far inside wide bounds are wider than they need be."
)
_INFLATIONS = (
    "VIF: 1/(1 - R^2) of a column on all others. A first level is left out; so are products, and knots beside the line "
    "of their curve, here and among the correlations."
)
_FREE = "Computed from released numbers: it costs nothing further."


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; nan where the released numbers cannot say.

    Attributes
    ----------
    estimate, low, high : the number and the ends of its interval.
    """

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """A column of the release.

    Attributes
    ----------
    name : of the column of the model, or of the level.
    lower, upper : what numbers are clipped to, on the scale of the transform; nan for shares.
    mean, deviation, inflation : numbers with intervals; an inflation of None is of a column that has none.
    """

    name: str
    lower: float
    upper: float
    mean: Estimate
    deviation: Estimate
    inflation: Estimate | None


@dataclass(frozen=True, slots=True)
class Correlation:
    """Of two columns of the release.

    Attributes
    ----------
    first, second : their names.
    value : with its interval.
    """

    first: str
    second: str
    value: Estimate


@dataclass(frozen=True, slots=True)
class MomentTable:
    """Means, standard deviations, variance inflation and correlations of the columns of a release, with intervals.

    Attributes
    ----------
    lines : tuple of objects
        One for each column, with `name`, `lower` and `upper` (what numbers are clipped to), and `mean`, `deviation` and
        `inflation`, each with `estimate`, `low` and `high`; nan where the released numbers cannot say. The first one of
        levels that make up for each other, and a level without a column, have no inflation.
    correlations : tuple of objects
        One for each pair of columns, with `first`, `second` and `value`.
    level : float
        Of each interval.
    facts : mapping of str to str
        Number of rows and cost.
    notes : tuple of str
        What the numbers mean, and what the intervals count.
    alarms : tuple of str
        What voids the promise of the release.

    Privacy
    -------
    Post-processing of what was released: it costs nothing further.

    See Also
    --------
    dplr.results.ReleasedMoments.describe : Makes one.
    dplr.results.Summary : The table of a regression.

    Examples
    --------
    >>> import dplr
    >>> print(dplr.results.MomentTable((), (), 0.95, {"n": "10"}, (), ()).to_csv().strip())
    part,name,second,lower,upper,estimate,low,high
    """

    lines: tuple[ColumnDescription, ...]
    correlations: tuple[Correlation, ...]
    level: float
    facts: Mapping[str, str]
    notes: tuple[str, ...]
    alarms: tuple[str, ...]

    def __str__(self) -> str:
        return printing.as_text(self, printing.FIRST)

    def _repr_html_(self) -> str:
        """Return the first columns and correlations for notebooks, with all notes."""
        return printing.as_notebook(self)

    def to_text(self) -> str:
        """Return everything as text.

        Returns
        -------
        str
            Lines of the columns, then of the correlations, then notes.

        Privacy
        -------
        Post-processing of what was released.
        """
        return printing.as_text(self, None)

    def to_html(self) -> str:
        """Return both tables as a piece of HTML, all text escaped.

        Returns
        -------
        str
            Two table elements and a list; nothing in them is loaded from elsewhere.

        Privacy
        -------
        Post-processing of what was released.
        """
        return printing.as_html(self)

    def to_latex(self) -> str:
        r"""Return both tables as LaTeX, for ``\\usepackage{booktabs}``.

        Returns
        -------
        str
            Two tabular environments and the notes.

        Privacy
        -------
        Post-processing of what was released.
        """
        return printing.as_latex(self)

    def to_csv(self) -> str:
        """Return one line per number, in full; empty fields where the released numbers cannot say.

        The column `part` is "mean", "std. deviation", "VIF" or "correlation".

        Returns
        -------
        str
            A header, and a line for each number.

        Privacy
        -------
        Post-processing of what was released.
        """
        return printing.as_csv(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values of everything; None where the released numbers cannot say.

        Returns
        -------
        dict
            With the attributes as keys.

        Privacy
        -------
        Post-processing of what was released.
        """
        plain: dict[str, Any] = _plain(asdict(self) | {"facts": dict(self.facts)})
        return plain

    def to_json(self) -> str:
        """Return `to_dict` as JSON.

        Returns
        -------
        str
            The text of a JSON object.

        Privacy
        -------
        Post-processing of what was released.
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row per number, as in `to_csv`.

        Returns
        -------
        pandas.DataFrame
            With the columns of `to_csv`.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.

        Privacy
        -------
        Post-processing of what was released.
        """
        return pandas().DataFrame(printing.records(self), columns=list(printing.FIELDS))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Numbers:
    """The numbers of one release at one level, in the user's units."""

    def __init__(self, released: ReleasedMoments, level: float) -> None:
        self.level, self.layout, prep = level, released.layout, released.prep
        laws = {block.law for party in released.parties for block in party.statement.released.values()}
        self.squares = Squares(
            released.matrix, released.cell_variances, released.tied, max(1.0, released.count), True, LAPLACE in laws
        )
        d = self.layout.width
        self.low, self.high = (np.append(ends[:d] / GRID, math.nan) for ends in (prep.low, prep.high))
        self.unit, self.shift = GRID / prep.scale[:d], prep.shift[:d]
        self.sizes = np.array(released.problem.geometry.sizes)
        spans = self._spans()
        knots = {
            first + 1 + k for first, column in spans if isinstance(column, Curve) and column.line
            for k in range(len(column.places))
        }  # fmt: skip
        width = sum(self.layout.widths[: len(self.layout.columns)])  # products come behind
        self.compared = [place for place in range(width) if place not in knots]

    def mean(self, place: int) -> Estimate:
        """In the user's units."""
        part, ends = self._part([place]), (self.low[place], self.high[place])
        variance = math.inf if place in self.shares else upper_variance(part, 0)
        values = mean(part, np.array([1.0, 0.0]), *ends, self.level, variance)
        return Estimate(*(float(end * self.unit[place] + self.shift[place]) for end in values))

    def remainder(self, first: int, block: int) -> Estimate:
        """The share of what is in none of the columns of a block."""
        part, direction = self._part(range(first, first + block)), np.append(np.ones(block), 0.0)
        values = mean(part, direction, 0.0, self.high[first], self.level, math.inf)
        return _complement(Estimate(*(float(end * self.unit[first]) for end in values)))

    def deviation(self, place: int) -> Estimate:
        """In the user's units."""
        if place in self.shares:
            return _of_share(self.mean(place))
        values = deviation(self._part([place]), 0, self.low[place], self.high[place], self.level)
        return Estimate(*(float(end * self.unit[place]) for end in values))

    def inflations(self) -> dict[int, Estimate]:
        """By place; of the columns that do not make up for each other."""
        places = choose(self.layout.names, self.layout, True, self.compared).coordinates[:-1]
        part, sizes = self._part(places), self.sizes[[*places, -1]]
        return {place: Estimate(*inflation(part, sizes, self.level, k)) for k, place in enumerate(places)}

    def correlation(self, pair: tuple[int, int]) -> Estimate:
        """Of two columns."""
        low, high = self.low[[*pair, -1]], self.high[[*pair, -1]]
        return Estimate(*correlation(self._part(pair), (0, 1), low, high, self.level))

    def _part(self, places: Sequence[int]) -> Squares:
        """The moments of some columns and the constant."""
        kept = np.append(np.asarray(places, np.intp), len(self.squares.matrix) - 1)
        cells, every = np.ix_(kept, kept), self.squares
        return replace(every, matrix=every.matrix[cells], cells=every.cells[cells], tied=every.tied[kept])

    @cached_property
    def shares(self) -> set[int]:
        """Places of columns of which the mean is a share: each is 0 or 1 in a row."""
        return {first + k for first, size in self.layout.blocks for k in range(size)} | {
            first for first, column in self._spans() if isinstance(column, Levels) and column.kind == "binary"
        }

    def lines(self) -> Iterator[ColumnDescription]:
        inflations, names = self.inflations(), self.layout.names
        for first, column in self._spans():
            feature = self.layout.features[self.layout.firsts.index(first)]
            for place in range(first, first + (column.number is not None) + column.block):
                ends = self.layout.pairs[place] if column.number is not None and place == first else None
                lower, upper = (math.nan, math.nan) if ends is None or place in self.shares else ends
                yield ColumnDescription(
                    names[place], lower, upper, self.mean(place), self.deviation(place), inflations.get(place)
                )
            yield from self._rest(feature, first, column)

    def _rest(self, feature: str, first: int, column: Column) -> Iterator[ColumnDescription]:
        """The level or bin that has no column: its share is what is in none of the others."""
        if not isinstance(column, (Levels, Bins)):
            return
        binary = isinstance(column, Levels) and column.kind == "binary" and not column.block
        level = without_column(feature, column)
        if level:
            share = _complement(self.mean(first)) if binary else self.remainder(first, column.block)
            yield ColumnDescription(level, math.nan, math.nan, share, _of_share(share), None)

    def _spans(self) -> list[tuple[int, Column]]:
        return list(zip(self.layout.firsts, self.layout.columns, strict=False))


def _complement(share: Estimate) -> Estimate:
    return Estimate(1 - share.estimate, 1 - share.high, 1 - share.low)


def _of_share(share: Estimate) -> Estimate:
    """Standard deviation of a column of 0 and 1 with this share; its interval is that of the share's."""
    ends = [math.sqrt(max(value * (1 - value), 0.0)) for value in (share.low, share.high)]
    top = 0.5 if share.low <= 0.5 <= share.high else max(ends)
    return Estimate(math.sqrt(max(share.estimate * (1 - share.estimate), 0.0)), min(ends), top)


def without_column(feature: str, column: Column) -> str:
    """The name of the level or bin that is where no other one is; empty where each has a column."""
    if isinstance(column, Bins) and column.reference is not None:
        return f"{feature} in {column.labels[column.bin_of(column.reference)]}"
    if isinstance(column, Levels) and column.reference is not None:
        return f"{feature}={column.reference}"
    if isinstance(column, Levels) and column.kind == "binary" and not column.block:
        return f"{feature}={column.levels[0]}"
    return ""


def table_of(released: ReleasedMoments, level: float) -> MomentTable:
    """The table of `ReleasedMoments.describe`."""
    check_level(level)
    numbers, layout = _Numbers(released, level), released.layout
    owners = [place for place, width in enumerate(layout.widths) for _ in range(width)]
    pairs = [pair for pair in combinations(numbers.compared, 2) if owners[pair[0]] != owners[pair[1]]]
    correlations = tuple(Correlation(layout.names[a], layout.names[b], numbers.correlation((a, b))) for a, b in pairs)
    facts = facts_of(released.privacy_, "", released.count)
    del facts["target"]
    return MomentTable(
        tuple(numbers.lines()), correlations, level, facts, tuple(_notes(released)), alarms(released.privacy_)
    )


def _notes(released: ReleasedMoments) -> Iterator[str]:
    """The meaning of the numbers, and of the intervals."""
    layout = released.layout
    named = list(zip(layout.features, layout.columns, strict=True))
    if any(column.number is not None for _, column in named):
        yield _CLIPPED
    if layout.blocks or layout.hats or any(isinstance(column, Levels) for _, column in named):
        yield _SHARES
    hot = [(feature, column) for feature, column in named if column.number is None]
    rests = [name for name in (without_column(feature, column) for feature, column in hot) if name]
    if rests:
        yield _REST.format(names=", ".join(rests))
    marked = [feature for feature, column in named if column.number is not None and column.missing == INDICATOR]
    if marked:
        yield _MISSING.format(names=", ".join(marked))
    yield _INTERVALS
    yield _INFLATIONS
    yield from released.conditions
    yield _FREE
