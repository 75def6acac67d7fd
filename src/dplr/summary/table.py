"""A regression table: estimates with their uncertainty, and what they mean."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dplr._kit.extras import pandas
from dplr._kit.validation import sentence
from dplr.privacy.estimand import Estimand
from dplr.summary import render
from dplr.summary.clipped import Clipping
from dplr.summary.columns import INTERCEPT

if TYPE_CHECKING:
    from dplr.summary.statistics import FitStatistic, TermTest

NO_INTERVAL = "no interval"
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, slots=True)
class Line:
    """One coefficient of a table, in the user's units.

    Attributes
    ----------
    name : str
        Name of the column, or "(intercept)".
    label : str
        The class that the model is about, with more than two classes; else empty.
    estimate, std_error : float
        Coefficient in the user's units, and its standard error; nan or infinite where the released numbers cannot say.
        Where they bound it narrowly there is no standard error: the interval grows faster than the normal quantile. Nor
        is there one where the interval ends at the largest effect that is taken.
    low, high : float
        Ends of the confidence interval; infinite where the released numbers do not bound it, nan where the release
        allows no intervals.
    noise_share : float
        The part of the variance that is privacy noise, in [0, 1].
    p_value : float
        P value of the hypothesis that the coefficient is 0; nan where the interval is unbounded.
    verdict : str
        Whether there is an interval, and where it comes from: ``"bounded"``, ``"bounded narrowly"``, ``"bounded by
        effect_bound"``, ``"bounded narrowly by effect_bound"``, ``"unbounded"`` or ``"no interval"``. Narrowly: noise
        may be why it is reported, so that interval and p-value leave more room.
    noise : float, default=nan
        Standard deviation of the privacy noise in the estimate; nan where it is not known.
    reference : str, default=""
        The level that this one is compared with; empty for other columns.
    bounded_to : float, default=nan
        The level up to which the released numbers bound the coefficient, where they do narrowly.

    Privacy
    -------
    Post-processing of what was released: it costs nothing further.
    """

    name: str
    label: str
    estimate: float
    std_error: float
    low: float
    high: float
    noise_share: float
    p_value: float
    verdict: str
    noise: float = math.nan
    reference: str = ""
    bounded_to: float = math.nan

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def strength(self) -> float:
        """The middle of the interval over half its width: above 1 where 0 is outside; -1 without an interval."""
        if not self.bounded:
            return -1.0
        width = self.high - self.low
        return abs(self.low + self.high) / width if width else math.inf


@dataclass(frozen=True, slots=True)
class Ratio:
    """The factor of the odds, or of the mean count, where a column grows by `step`, the others unchanged.

    Attributes
    ----------
    name : str
        Of the line of the table.
    label : str
        The class of the line; with two labels target and label, such as "y = yes", or else the target.
    step : float
        By how much the column grows, in the user's units.
    estimate, low, high : float
        The ratio and the ends of its interval; nan, 0 and infinity where the released numbers cannot say.

    Privacy
    -------
    Post-processing of what was released: it costs nothing further.

    See Also
    --------
    dplr.results.Summary : `odds_ratios` and `rate_ratios` make them.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 1, (50_000, 1))
    >>> y = np.random.default_rng(1).random(50_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> est = dplr.fit(X, y, eps=3.0, bounds=dplr.Bounds([(0, 1)]), aim="coefficients")
    >>> (ratio,) = est.summary().odds_ratios()
    >>> 1 < ratio.low < ratio.estimate < ratio.high
    True
    """

    name: str
    label: str
    step: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Summary:
    """A regression table of released numbers: print it, or take it along in another form.

    Printed it has at most 15 lines and begins with the coefficients that are largest beside the width of their
    interval; `to_text` has all notes, and all coefficients in the order of the columns, as all other forms have them.

    Attributes
    ----------
    lines : tuple of objects
        One for each coefficient, with `name`, `label`, `estimate`, `std_error`, `low`, `high`, `noise_share`,
        `p_value`, `verdict`, `noise` and `reference`, as the columns of `to_frame`, and `bounded`.
    title : str
        What was fitted, and how.
    facts : mapping of str to str
        Under `"target"`, `"n"` (`"sum of weights"` where rows count differently), `"eps"`, `"delta"`, `"neighbouring"`,
        `"coefficients"`, and `"level"` where there are intervals.
    references : mapping of str to str
        Column, and the level that the others are compared with.
    notes : tuple of str
        What was assumed, and what the table does not say.
    estimand : {"mean", "probability", "log-odds", "log-rate", "location", "margin"}
        What a unit of a column changes, by the lines of the table.
    obstacle : str, default=""
        Why the release allows no intervals; empty where it does. Without intervals the estimates are the released
        coefficients, which have a ridge; with them they have none.
    alarms : tuple of str, default=()
        What voids the promise: facts that are not covered, and noise from a seed.
    advice : tuple of str, default=()
        What a reader must know before using the numbers, and what to do about it.
    omitted : int, default=0
        How many coefficients are not among `lines`; 0 in a table that `summary` makes.
    clipped : mapping of str to object
        Name, and the range to which the fit clipped the column, `low` and `high`, beside its declared bounds, `lower`
        and `upper`; empty where the columns are those declared.
    condition : str, default=""
        A clause under which alone the intervals hold, such as that the rows follow a logistic model; empty for none.
    parts : frozenset of str
        Names of coefficients that say something together alone, such as the line and the knots of a curve.
    groups : mapping of str to sequence of str or None, default=None
        Columns with several coefficients, and the names of these; None for a table that keeps its order, as one without
        intervals does. Else the short forms begin with the strongest lines, of which those of one column stay together.
    fit_statistics : tuple of objects, default=()
        Of linear models from moments: R^2, that adjusted for the number of columns, and the standard deviation of the
        residuals, each with `name`, `estimate`, `low` and `high`; nan where the released numbers cannot say. They are
        about the population, and hold for columns and residuals of any law within the declared bounds.
    tests : tuple of objects, default=()
        Of all slopes, and of each column with several coefficients, that all of them are 0: with `name`, `label`,
        `statistic`, `dof`, `p_value` and `verdict`, as `wald_test` has them. They are not adjusted for their number.

    Privacy
    -------
    Post-processing of what was released: it costs nothing further and may be published with the statement.

    See Also
    --------
    dplr.LinearRegression.summary : Makes one.
    dplr.results.MomentModel : Makes one from released moments.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (20_000, 2))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 5 + rng.normal(0, 3, 20_000)
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
    >>> table = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y).summary()
    >>> [line.name for line in table.lines], table.facts["n"]
    (['column 0', 'column 1', '(intercept)'], '20,000')
    """

    lines: tuple[Line, ...]
    title: str
    facts: Mapping[str, str]
    references: Mapping[str, str]
    notes: tuple[str, ...]
    estimand: Estimand
    obstacle: str = ""
    alarms: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    omitted: int = 0
    clipped: Mapping[str, Clipping] = field(default_factory=dict)
    condition: str = ""
    parts: frozenset[str] = frozenset()
    groups: Mapping[str, Sequence[str]] | None = None
    fit_statistics: tuple[FitStatistic, ...] = ()
    tests: tuple[TermTest, ...] = ()

    def odds_ratios(self, steps: Mapping[str, float] | None = None) -> tuple[Ratio, ...]:
        """Compute the odds ratio of every column, each with its interval.

        Parameters
        ----------
        steps : mapping of str to float or None, default=None
            Name of a coefficient, and by how much its column grows; 1 for names that are not in it.

        Returns
        -------
        tuple of objects
            With `name`, `label`, `step`, `estimate`, `low` and `high`; empty where the table is not about log odds, or
            has no intervals. The intercept has none: it is of no change of a column. Nor have the line and the knots of
            a curve, which change together: read `effects()` of the estimator.

        Raises
        ------
        ValueError
            A name in `steps` is that of no column of the table.

        Privacy
        -------
        Post-processing of what was released.
        """
        return self._ratios(Estimand.LOG_ODDS, steps)

    def rate_ratios(self, steps: Mapping[str, float] | None = None) -> tuple[Ratio, ...]:
        """Compute the factor of the mean count of every column, each with its interval.

        Parameters
        ----------
        steps : mapping of str to float or None, default=None
            Name of a coefficient, and by how much its column grows; 1 for names that are not in it.

        Returns
        -------
        tuple of objects
            As `odds_ratios`; empty where the table is not about logarithms of rates, or has no intervals.

        Raises
        ------
        ValueError
            A name in `steps` is that of no column of the table.

        Privacy
        -------
        Post-processing of what was released.
        """
        return self._ratios(Estimand.LOG_RATE, steps)

    def _ratios(self, estimand: Estimand, steps: Mapping[str, float] | None) -> tuple[Ratio, ...]:
        if self.estimand is not estimand or self.obstacle:
            return ()
        lines = [line for line in self.lines if line.name not in {INTERCEPT, *self.parts}]
        if unknown := set(steps or ()) - {line.name for line in lines}:
            rule = f"must name columns of the table: {', '.join(line.name for line in lines)}"
            raise ValueError(sentence("steps", rule, ", ".join(map(str, sorted(unknown, key=str)))))
        steps, target = steps or {}, self.facts["target"]
        return tuple(_ratio(line, float(steps.get(line.name, 1.0)), line.label or target) for line in lines)

    def __str__(self) -> str:
        return render.as_brief(self)

    def _repr_html_(self) -> str:
        """Return the strongest coefficients and all notes for notebooks."""
        return render.as_notebook(self)

    def to_text(self) -> str:
        """Return the whole table as text, with all notes.

        Returns
        -------
        str
            Lines of at most 100 characters, except for long names.

        Privacy
        -------
        Post-processing of what was released.
        """
        return render.as_text(self)

    def to_html(self) -> str:
        """Return the table as a piece of HTML, all text escaped.

        Returns
        -------
        str
            A table element; nothing in it is loaded from elsewhere.

        Privacy
        -------
        Post-processing of what was released.
        """
        return render.as_html(self)

    def to_latex(self) -> str:
        r"""Return the table as LaTeX, for ``\\usepackage{booktabs}``.

        Returns
        -------
        str
            A tabular environment.

        Privacy
        -------
        Post-processing of what was released.
        """
        return render.as_latex(self)

    def to_csv(self) -> str:
        """Return one line per coefficient, numbers in full; empty fields where the released numbers cannot say.

        Lines for `fit_statistics` and `tests` follow. The column `part` tells them apart: it is "coefficient", "fit
        statistic" or "test". A test has a `statistic` where its tail of chi-square with `dof` degrees is the p-value.

        Returns
        -------
        str
            A header, and one line per coefficient, statistic of the fit, and test.

        Privacy
        -------
        Post-processing of what was released.
        """
        return render.as_csv(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values of everything in the table; None where the released numbers cannot say.

        Returns
        -------
        dict
            With `title`, `facts`, `lines`, `references`, `notes`, `obstacle`, `alarms`, `advice`, `clipped`,
            `fit_statistics` and `tests`.

        Privacy
        -------
        Post-processing of what was released.
        """
        lines = [_plain_fields(line) for line in self.lines]
        return {
            "title": self.title,
            "facts": dict(self.facts),
            "lines": lines,
            "references": dict(self.references),
            "notes": list(self.notes),
            "obstacle": self.obstacle,
            "alarms": list(self.alarms),
            "advice": list(self.advice),
            "clipped": {name: asdict(clipping) for name, clipping in self.clipped.items()},
            "fit_statistics": [_plain_fields(statistic) for statistic in self.fit_statistics],
            "tests": [_plain_fields(test) for test in self.tests],
        }

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
        """Return a pandas data frame, one row per coefficient, numbers in full.

        Returns
        -------
        pandas.DataFrame
            Indexed by the names of the coefficients; ``attrs["notes"]`` are the notes of the table.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.

        Privacy
        -------
        Post-processing of what was released.
        """
        frame = pandas().DataFrame(render.records(self)).set_index("name")
        frame.attrs["notes"] = list(self.notes)
        return frame


def _ratio(line: Line, step: float, label: str) -> Ratio:
    low, high = sorted((step * line.low, step * line.high)) if step else (0.0, 0.0)
    return Ratio(line.name, label, step, _exp(step * line.estimate), _exp(low), _exp(high))


def _exp(value: float) -> float:
    return math.inf if value > _LARGEST_EXPONENT else math.exp(value)


def _plain_fields(line: Any) -> dict[str, Any]:
    return {name: _plain(getattr(line, name)) for name in type(line).__slots__}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
