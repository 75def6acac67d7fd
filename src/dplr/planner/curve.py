"""Plans of several mechanisms at several eps, deltas and numbers of rows, and a simulation of their fits."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dplr._kit import markup
from dplr._kit.extras import pandas
from dplr._kit.files import checked_name
from dplr._kit.validation import check_choice, sentence
from dplr.planner.points import Point, html_of, text_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRONG, ROOT_SQUARES = "share of wrong answers", "root mean squared error"
_DIGITS = 4


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Curve:
    """The expected quality of fits before a row is read: the result of `dplr.plan_curve`.

    Attributes
    ----------
    points : tuple of dplr.planner.Point
        Every mechanism at every eps, delta and number of rows that it can have.
    columns : tuple of str
        Names of the coefficients.
    reach : tuple of float
        By how much each column can grow within its bounds, (n_columns,).
    quantity : str
        What `error` measures.
    model : str
        The public model, or `"margin"` or `"residual"` for a loss of the user's own.
    neighbouring : str
        What is protected.
    assumptions : tuple of str
        Sentences: what the simulation assumed of rows that nobody has read.
    declared : tuple of str
        Sentences: what was declared to be public.
    fits : int
        How many fits were simulated at each point.

    Privacy
    -------
    A function of public facts and of assumptions: no private row was read, and nothing was spent. It may be published.

    See Also
    --------
    dplr.plan_curve : Makes one.
    dplr.plots.plot_curve : Draws it.

    Examples
    --------
    >>> import dplr
    >>> bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=("no", "yes"))
    >>> curve = dplr.plan_curve(bounds=bounds, n_rows=2000, eps=[0.1, 1.0], delta=0.0, mechanism="fm")
    >>> sorted({point.eps for point in curve.points})
    [0.1, 1.0]
    >>> curve.records()[0]["mechanism"]
    'fm'
    """

    points: tuple[Point, ...]
    columns: tuple[str, ...]
    reach: tuple[float, ...]
    quantity: str
    model: str
    neighbouring: str
    assumptions: tuple[str, ...]
    declared: tuple[str, ...]
    fits: int

    def records(self) -> list[dict[str, Any]]:
        """One flat record for each point: for a data frame, or for a file.

        Returns
        -------
        list of dict
            Noise and distance of each coefficient stand under `"coef_noise: NAME"` and `"coef_distance: NAME"`; with
            intervals `"width: NAME"`, `"width without privacy: NAME"` and `"unsaid: NAME"` too.

        Privacy
        -------
        A simulation and public facts: no private row was read for it.

        Examples
        --------
        >>> import dplr
        >>> curve = dplr.plan_curve(n_rows=[500], n_features=1, eps=[1.0], delta=[0.0], mechanism="fm")
        >>> [name for name in curve.records()[0] if name.startswith("coef_noise")]
        ['coef_noise: column 0']
        """
        flat = []
        for point in self.points:
            record = asdict(point)
            noise, deviations = record.pop("noise"), record.pop("coef_noise")
            distances = record.pop("coef_distance")
            del record["intervals"], record["merged"]
            record |= {"noise": "; ".join(f"{name} {value:.6g}" for name, value in noise.items())}
            record |= {f"coef_noise: {name}": v for name, v in zip(self.columns, deviations, strict=True)}
            record |= {f"coef_distance: {name}": v for name, v in zip(self.columns, distances, strict=True)}
            record |= {f"width: {coef.name}": coef.width for coef in point.intervals}
            record |= {f"width without privacy: {coef.name}": coef.plain for coef in point.intervals}
            record |= {f"unsaid: {coef.name}": coef.unsaid for coef in point.intervals}
            flat.append(record)
        return flat

    def to_frame(self) -> Any:
        """Return a pandas data frame, one row per point.

        Returns
        -------
        pandas.DataFrame
            With the columns of `records`.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.

        Privacy
        -------
        A simulation and public facts: no private row was read for it.
        """
        return pandas().DataFrame(self.records())

    def csv_text(self) -> str:
        """The records as the text of a CSV file.

        Returns
        -------
        str
            One line for each point, below a line of names.

        Privacy
        -------
        A simulation and public facts: no private row was read for it.
        """
        records, text = self.records(), io.StringIO()
        names = dict.fromkeys(name for record in records for name in record)
        writer = csv.DictWriter(text, list(names), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the records as a CSV file; an older one is replaced.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OSError
            The file cannot be written.

        Privacy
        -------
        Writes a simulation and public facts: no private row was read for it.
        """
        target = Path(checked_name("path", path))
        target.write_text(self.csv_text(), encoding="utf-8", newline="\n")
        return target

    def typical(self, point: Point, what: str = "coef_distance") -> float:
        """Root mean square over columns of a point's `coef_distance` or `coef_noise`, across the bounds of each.

        Across the bounds is what columns of different units have in common: the change of the prediction (of the log
        odds, or of the target) from a column's lower to its upper bound.

        Parameters
        ----------
        point : dplr.planner.Point
            One of `points`.
        what : {"coef_distance", "coef_noise"}, default="coef_distance"
            Which of its attributes.

        Returns
        -------
        float
            The root mean square, in units of the prediction.

        Privacy
        -------
        A simulation and public facts: no private row was read for it.
        """
        check_choice("what", what, ("coef_distance", "coef_noise"))
        if not isinstance(point, Point):
            raise TypeError(sentence("point", "must be one of the points of the curve", point))
        return float(np.sqrt(np.mean((np.array(getattr(point, what)) * np.array(self.reach)) ** 2)))

    def plot(self, ax: Axes | None = None, *, delta: float | None = None, n_rows: int | None = None) -> Axes:
        """Draw expected error against eps: see `dplr.plots.plot_curve`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Where to draw; None for a new figure, which pyplot knows.
        delta : float or None, default=None
            Which delta of the curve; None for the largest.
        n_rows : int or None, default=None
            Which number of rows of the curve; None for the one in the middle.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.

        Raises
        ------
        ModuleNotFoundError
            matplotlib is not installed.
        ValueError
            The curve has no such delta or number of rows.

        Privacy
        -------
        Draws a simulation and public facts: no private row was read for it.
        """
        # Pictures stand above: they are loaded where one is drawn.
        picture: Axes = import_module("dplr.plots").plot_curve(self, ax, delta=delta, n_rows=n_rows)
        return picture

    @property
    def _title(self) -> str:
        return f"Expected error ({self.quantity}) on simulated rows"

    @property
    def _rows(self) -> list[list[str]]:
        """Cells, the headings first."""
        heads = ["mechanism", "eps", "delta", "rows", "error", "s.e.", "no privacy", "no model", "kept", "distance"]
        rows = [[*heads, "proved excess"]]
        for point in self.points:
            risk = "" if point.excess_risk is None else f"{point.excess_risk:.3g}"
            suffix = "+" if point.simulated_rows < point.n_rows else ""
            errors = (point.error, point.standard_error, point.non_private, point.baseline)
            rows.append([
                point.mechanism + ("*" if point.auto else ""), f"{point.eps:g}", f"{point.delta:g}",
                f"{point.n_rows}{suffix}", *(f"{value:.{_DIGITS}g}" for value in errors), f"{point.kept:.0%}",
                f"{self.typical(point):.3g}", risk,
            ])  # fmt: skip
        return rows

    def __str__(self) -> str:
        if self.points[0].intervals:
            return text_of(self.points, self.fits, self.assumptions)
        rows = self._rows
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([self._title, *lines, *self.notes()])

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        if self.points[0].intervals:
            return markup.piece("", *html_of(self.points, self.fits, self.assumptions))
        head, *rows = self._rows
        return markup.piece(self._title, markup.excerpt(head, rows, "points"), markup.sentences(self.notes()))

    def notes(self) -> list[str]:
        """How to read the table, and what was assumed.

        Returns
        -------
        list of str
            One sentence each.

        Privacy
        -------
        A simulation and public facts: no private row was read for it.
        """
        notes = ["kept: share of the gain of a model without privacy over no model at all."]
        notes.append(
            "distance: of a coefficient from that without privacy, times the width of the column's bounds; "
            "root mean square."
        )
        if any(point.auto for point in self.points):
            notes.append('*: what mechanism="auto" takes.')
        if any(point.simulated_rows < point.n_rows for point in self.points):
            most = max(point.simulated_rows for point in self.points)
            notes.append(f"+: simulated with {most} rows; with more, the error is expected to be smaller.")
        if any(point.excess_risk is not None for point in self.points):
            notes.append(
                "proved excess: with probability 0.95 the objective on the data ends at most that much above its "
                "minimum."
            )
        return [*notes, *(f"Assumed: {fact}." for fact in self.assumptions)]
