"""Tables, tests, intervals and curves of a model: functions of its release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_choice, check_flag, check_list, real_number, sentence
from dplr.estimators._subject import target_of
from dplr.fitting.options import documented
from dplr.inference.intervals import check_level, intervals, score_test
from dplr.summary.bands import MEAN, ROW, bands
from dplr.summary.columns import INTERCEPT, positions, reference_names
from dplr.summary.combined import contrast_table
from dplr.summary.curves import Bands, Curves, curves_of, ordered, words_of
from dplr.summary.ends import Ends
from dplr.summary.linear import Combination, combinations
from dplr.summary.subject import Equation, Subject, all_ends, check_columns, summarise
from dplr.summary.table import Summary

if TYPE_CHECKING:
    from dplr.summary.column_statistics import ColumnStatistics

Matrix = NDArray[np.float64]
# What the methods below share: entries of their docstrings.
_SHARED = {
    "columns": """columns : sequence of str or None, default=None
    Names of columns, or of coefficients, that the model is made of. None takes all. Fewer columns are another model
    from the same release: its coefficients are not adjusted for the columns left out.""",
    "level": """level : float, default=0.95
    Probability of each interval, in (0, 1); for predictions and numbers about columns in [0.5, 1).""",
    "joint": """joint : bool, default=False
    Whether all intervals hold together with that probability (Bonferroni).""",
    "effect_bound": """effect_bound : float or None, default=None
    Largest effect of a column that noise drowns: what a flag adds to the mean, to the probability or to the log odds,
    or a number from the middle of its range to an end. Intervals of other columns count it, and a table marks them.
    None takes the declared width of the target, the probability 1, and log odds or logarithms of rates of 6 for flags,
    levels and bins. Of a number it takes nothing: lines that depend on one that noise drowns cannot say.""",
}


def described(kind: type, **further: str) -> None:
    """Add to the docstrings of public methods and properties what they share; `further` as in `documented`."""
    further = {"Raises": "NotFittedError\n    `fit` was not called.", **further}
    for name, member in vars(kind).items():
        if isinstance(member, property):
            member.__doc__ = documented(member.fget, _SHARED, further).__doc__
        elif not name.startswith("_") and callable(member):
            documented(member, _SHARED, further)


class Tables:
    """Tables, intervals, tests and curves of whatever makes a `Subject`: the hooks say of what."""

    coef_: Any
    classes_: Any
    privacy_: Any
    _subject: Any  # (columns or None) -> Subject; raises ValueError where the release allows no intervals
    _obstacle: Any  # () -> why it allows none; empty where it does
    _bare_table: Any  # (obstacle) -> the table where it allows none
    _rows_and_target: Any  # (X) -> rows as the fit counts them, and the declared bounds of the target
    _columns_of_table: Any  # () -> names of the columns that a table may have, and the layout; None for none
    _along_columns: Any  # () -> the places of every number that the model has

    def summary(
        self,
        columns: Sequence[str] | None = None,
        *,
        level: float = 0.95,
        joint: bool = False,
        effect_bound: float | None = None,
    ) -> Summary:
        """Make a regression table: estimates, and intervals that count sampling and privacy noise.

        Where the release allows no intervals, the table has the released coefficients, with the noise of each where its
        law is known, and says why.

        Returns
        -------
        Summary
            It prints as text of at most 15 lines; `to_text`, `to_frame`, `to_html`, `to_latex`, `to_csv` and `to_dict`
            give all of it. Estimates with intervals are those without ridge and trimming, so they differ from `coef_`,
            which predicts better. Levels are compared with a reference: the declared one, or else the first.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> [line.bounded for line in est.summary().lines]
        [True, True, True]
        """
        return self._summary(columns, level, joint, effect_bound)

    def _summary(
        self,
        columns: Sequence[str] | None = None,
        level: float = 0.95,
        joint: bool = False,
        effect_bound: float | None = None,
        most: int | None = None,
    ) -> Summary:
        """The table of `summary`; with `most` only that many of its coefficients where each takes time."""
        level = real_number("level", level)
        default = columns is None and level == 0.95 and effect_bound is None and joint is False
        if default and (obstacle := self._obstacle()):
            table: Summary = self._bare_table(obstacle)
            return table
        subject = self._subject(columns)
        return summarise(subject, level, check_flag("joint", joint), effect_bound, most)

    def conf_int(
        self,
        level: float = 0.95,
        *,
        columns: Sequence[str] | None = None,
        joint: bool = False,
        effect_bound: float | None = None,
    ) -> dict[str, Any]:
        """Compute confidence intervals of the coefficients in the user's units.

        Returns
        -------
        dict
            Name to ``(low, high)``, the intercept as "(intercept)". Ends are infinite where the released numbers cannot
            say. With more than two classes, a dictionary like this for each label. Its method `to_frame` makes a
            pandas data frame with the columns `low` and `high`.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> low, high = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y).conf_int()["column 0"]
        >>> bool(low < 3 < high)
        True
        """
        subject = self._subject(columns)
        level, joint = real_number("level", level), check_flag("joint", joint)
        every = (map(tuple, ends.tolist()) for ends in all_ends(subject, level, joint, effect_bound))
        return Ends(self._by_label([Ends(zip(subject.names, ends, strict=True)) for ends in every]))

    def wald_test(
        self,
        columns: Sequence[str] | str,
        value: float | Sequence[float] = 0.0,
        *,
        effect_bound: float | None = None,
    ) -> Any:
        """Test that several coefficients, or linear combinations of them, have a value, all at once.

        The statistic is a Wald statistic in the form of the score: its variance is taken at the hypothesis, so that it
        holds where the noise is not small beside the moments.

        Parameters
        ----------
        columns : sequence of str, or str
            Names of columns, each with all of its coefficients; names of coefficients; or linear combinations as text,
            such as ``"a - b"``, ``"2*hours - age = 100"`` or ``"work=state - work=own"``. Names are matched first,
            longest first; backquotes or quotes tell them apart from operators. A reference level counts as 0.
        value : float or sequence of float, default=0.0
            Value under the hypothesis in the user's units: of all of them, or of each entry of `columns`. A
            combination with an equals sign has a value of its own, and `value` must be 0 there.

        Returns
        -------
        ScoreTest or dict
            An object with `statistic`, `dof`, `p_value` (chi-square) and `verdict`; nan where the released numbers
            cannot say. With more than two classes, a dictionary of them by label.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> est.wald_test(["column 0", "column 1"]).p_value < 0.01
        True
        >>> est.wald_test("column 0 + column 1 = 4").p_value < 0.01
        True
        """
        subject = self._subject(None)
        weights, values = self._hypotheses(subject, columns, value)
        equations = [
            (each.reading, weights @ each.contrasts, values - weights @ each.added, each.bounds(effect_bound))
            for each in subject.equations
        ]
        return self._by_label([score_test(*equation) for equation in equations])

    def contrast(
        self,
        contrasts: Sequence[str] | str,
        *,
        level: float = 0.95,
        joint: bool = False,
        effect_bound: float | None = None,
    ) -> Summary:
        """Estimate linear combinations of the coefficients, each with its interval and p-value.

        Parameters
        ----------
        contrasts : sequence of str, or str
            Linear combinations as text, such as ``"a - b"``, ``"(a + b)/2"`` or ``"work=state - work=own"``, written as
            for `wald_test`. The p-value is of the value behind an equals sign, and of 0 where there is none.
        joint : bool, default=False
            Whether all intervals hold together with that probability (Bonferroni); p-values are adjusted alike.

        Returns
        -------
        Summary
            A table with one line for each combination, and label where there are more than two classes: its `lines`
            have `estimate`, `std_error`, `low`, `high` and `p_value`.

        See Also
        --------
        dplr.LinearRegression.wald_test : Test several combinations at once.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> (line,) = est.contrast("column 0 - column 1").lines
        >>> line.low < 5 < line.high or line.high - line.low < 0.5
        True
        """
        subject = self._subject(None)
        texts = [contrasts] if isinstance(contrasts, str) else check_list("contrasts", contrasts)
        if not texts:
            raise ValueError(sentence("contrasts", "must be one or more linear combinations", texts))
        parsed = self._parsed(subject, texts, "contrasts")
        return contrast_table(subject, parsed, real_number("level", level), check_flag("joint", joint), effect_bound)

    def predict_interval(
        self, X: Any, *, level: float = 0.95, kind: str = "mean", effect_bound: float | None = None
    ) -> Any:
        """Compute an interval for the mean of each row, or for a new row, that counts sampling and privacy noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Rows as for `predict`: clipped to the bounds as in the fit.
        kind : {"mean", "row"}, default="mean"
            `"mean"`, the mean of all rows like this one, or the probability of its label; `"row"`, the target of one
            new row: the residual deviation is added, as of normal residuals with equal variances, as its `note` says.

        Returns
        -------
        PredictionIntervals or dict
            With `estimate`, `low`, `high`, `note` and `to_frame`. The estimate is without ridge, so not that of
            `predict`, which has a smaller error. With more than two classes, a dictionary by label: each against all
            others.

        Privacy
        -------
        A function of X and of the released model: as private as X.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> mean, row = (est.predict_interval([[5.0, 5.0]], kind=kind) for kind in ("mean", "row"))
        >>> bool(row.low[0] < mean.low[0] < mean.estimate[0] < mean.high[0] < row.high[0])
        True
        """
        kind, level = check_choice("kind", kind, (MEAN, ROW)), check_level(real_number("level", level))
        subject = self._subject(None)
        rows, target = self._rows_and_target(X)
        names, _ = self._columns_of_table()
        return self._by_label(bands(subject, tuple(names), rows, kind, level, target, effect_bound))

    def marginal_effects(self, *, level: float = 0.95, effect_bound: float | None = None) -> ColumnStatistics:
        """Compute average marginal effects: the change of the mean, or of the probability, per unit of each column.

        For log odds it is the derivative averaged over rows, the coefficient times the mean of p(1 - p), which comes
        from the released Hessian; also for flags and levels, as Stata's ``dydx`` of a number. For linear models it is
        the coefficient.

        Returns
        -------
        ColumnStatistics
            Its `lines` have `name`, `label`, `estimate`, `low` and `high`; nan where the released numbers cannot say,
            and `obstacle` says why where that is so for all of them. A product is a column of its own; the intercept,
            and the line and knots of a curve, which change together, have none.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/slope.py.

        See Also
        --------
        dplr.results.Summary : `odds_ratios` of it are the other way to read log odds.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 1, (50_000, 1))
        >>> y = rng.random(50_000) < 1 / (1 + np.exp(-2 * X[:, 0]))
        >>> est = dplr.fit(X, y, eps=3.0, bounds=dplr.Bounds([(0, 1)]), aim="coefficients")
        >>> (effect,) = est.marginal_effects().lines
        >>> effect.low < 0.37 < effect.high
        True
        """
        from dplr.summary.column_statistics import marginal_effects

        return marginal_effects(self._subject(None), real_number("level", level), effect_bound)

    def standardised_coefficients(self, *, level: float = 0.95, effect_bound: float | None = None) -> ColumnStatistics:
        """Compute coefficients in standard deviations of their column and of the target, each with its interval.

        Returns
        -------
        ColumnStatistics
            Its `lines` have `name`, `label`, `estimate`, `low` and `high`; nan where the released numbers cannot say.
            Releases of log odds do not tell the variances of columns: `obstacle` says so.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/determination.py.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> first, second = est.standardised_coefficients().lines
        >>> second.low < -0.53 < second.high < 0 < first.low < 0.8 < first.high
        True
        """
        from dplr.summary.column_statistics import standardised_coefficients

        return standardised_coefficients(self._subject(None), real_number("level", level), effect_bound)

    def variance_inflation(self, *, level: float = 0.95) -> ColumnStatistics:
        """Compute the variance inflation factor of each column, 1/(1 - R^2) on all others, with its interval.

        Returns
        -------
        ColumnStatistics
            Its `lines` have `name`, `estimate`, `low` and `high`; nan where the released numbers cannot say. Releases
            of log odds do not tell the variances of columns: `obstacle` says so.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/determination.py.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> [1 <= line.estimate < 1.05 for line in est.variance_inflation().lines]
        [True, True]
        """
        from dplr.summary.column_statistics import variance_inflation

        return variance_inflation(self._subject(None), real_number("level", level))

    def effects(self, *, level: float | None = 0.95) -> Curves:
        """Show the effect of each number as a curve, with a band where the release has confidence intervals.

        Parameters
        ----------
        level : float or None, default=0.95
            Of the confidence interval at each knot, in [0.5, 1). None makes no bands, and then values are those of the
            model that predicts.

        Returns
        -------
        Curves
            One curve for each number of the model, and one for each level that it is multiplied by: values at its
            knots, less the curve's mean over the bounds. With bands the values are estimates of the released equation,
            as in `summary`, without ridge. They are of log odds, scores, means or log rates.

        See Also
        --------
        dplr.plots.plot_curves : Draw them.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> X = np.random.default_rng(0).uniform(0, 10, (20_000, 2))
        >>> y = np.abs(X[:, 0] - 5)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(0, 5)).with_curves(3)
        >>> est = dplr.fit(X, y, model="linear", mechanism="fm", bounds=bounds, eps=float("inf"))
        >>> [round(value, 1) for value in est.effects()["column 0"].values]
        [2.5, -2.5, 2.5]
        """
        obstacle, level = self._obstacle(), None if level is None else check_level(level)
        names, layout = self._columns_of_table()
        if layout is None:
            remedy = "Without bounds nobody knows where a curve begins and ends."
            raise ValueError(sentence("bounds", "must be declared for curves", None, remedy))
        points, coefs = self._along_columns(), np.atleast_2d(np.asarray(self.coef_, np.float64))
        labels = [str(label) for label in self.classes_.tolist()] if len(coefs) > 1 else [""]
        about = "" if getattr(self, "outcome_", None) is None else target_of(self)
        subject = None if level is None or obstacle else self._subject(None)
        given: list[Bands | None] = [None] * len(coefs)
        if subject is not None and level is not None:
            given = [bands_of(subject, equation, names, level) for equation in subject.equations]
        pairs = zip(labels, coefs, given, strict=True)
        every = ordered([curve for label, coef, band in pairs for curve in curves_of(points, coef, label, band)])
        if subject is None:
            return Curves(every, words_of(self.privacy_.estimand, about))
        words = f"Bands: {level:.0%} confidence intervals, each by itself."
        return Curves(every, words_of(subject.equations[0].reading.estimand, about), words)

    def _hypotheses(
        self, subject: Subject, columns: Sequence[str] | str, value: float | Sequence[float]
    ) -> tuple[Matrix, Matrix]:
        """Weights (k, m) of the coefficients of a table, and the values (k,) of these combinations."""
        entries = [columns] if isinstance(columns, str) else check_list("columns", columns)
        several = isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0
        values: list[Any] = check_list("value", value) if several else [value] * len(entries)
        values = [real_number("value", goal) for goal in values]
        if len(values) != len(entries):
            rule = f"must be a number, or one for each of the {len(entries)} entries of `columns`"
            raise ValueError(sentence("value", rule, value))
        if not entries:
            check_columns(subject.names, entries)
        rows, goals = [], []
        for entry, goal in zip(entries, values, strict=True):
            members = self._members(subject, entry)
            if members is not None:
                rows.append(np.eye(len(subject.names))[members])
                goals += [goal] * len(members)
                continue
            (parsed,) = self._parsed(subject, [entry], "columns")
            if parsed.stated and goal:
                raise ValueError(sentence("value", "must be 0 where a combination has an equals sign", entry))
            rows.append(parsed.weights[None])
            goals.append(parsed.value if parsed.stated else goal + parsed.value)
        weights = np.concatenate(rows)
        if np.linalg.matrix_rank(weights) < len(weights):
            raise ValueError(sentence("columns", "must not follow from each other", entries, "Leave one out."))
        return weights, np.array(goals)

    def _members(self, subject: Subject, entry: str) -> list[int] | None:
        """Positions in the table of the coefficients of a column or coefficient; None for what is no name of one.

        A reference level has no coefficient there.
        """
        if entry in subject.names:
            return [subject.names.index(entry)]
        names, layout = self._columns_of_table()
        if entry not in names and (layout is None or entry not in layout.features):
            return None
        members = [names[j] for j in positions(names, layout, [entry])]
        return check_columns(subject.names, [name for name in members if name in subject.names])

    def _parsed(self, subject: Subject, texts: Sequence[str], parameter: str) -> list[Combination]:
        """Combinations as text; columns of the table whose coefficients are several are told of in errors."""
        names, layout = self._columns_of_table()
        blocks = {}
        if layout is not None:
            spans = zip(layout.features, layout.firsts, layout.widths, strict=False)
            blocks = {feature: names[first : first + width] for feature, first, width in spans}
        zeros = reference_names(layout, subject.references)
        return combinations(texts, subject.names, zeros, blocks, parameter)

    def _by_label(self, results: Sequence[Any]) -> Any:
        return results[0] if len(results) == 1 else dict(zip(self.classes_.tolist(), results, strict=True))


def bands_of(subject: Subject, equation: Equation, names: Sequence[str], level: float) -> Bands:
    """Estimates and intervals of sums of coefficients, from a released equation.

    The sums must be the same for all coefficients that no data tell apart: so are those along a column.
    """
    shown = [name for name in subject.names if name != INTERCEPT]
    position = {name: place for place, name in enumerate(names)}
    places = [position[name] for name in shown]

    def bands(factors: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        kept = factors[:, places]
        contrasts = kept @ equation.contrasts[: len(places)]
        added = kept @ equation.added[: len(places)]
        ends = np.zeros((3, len(factors)))
        some = np.abs(contrasts).max(axis=1) > 0
        if some.any():
            ends_of = intervals(equation.reading, contrasts[some], level, bounds=equation.bounds(None))
            ends[:, some] = ends_of.estimate, ends_of.low, ends_of.high
        estimate, low, high = ends + added
        return estimate, low, high

    return bands


described(
    Tables,
    Raises="""NotFittedError
    `fit` was not called.
ValueError
    The release allows no intervals: those of `aim="coefficients"` do. A column is unknown, a text is no linear
    combination or one follows from others, a level is out of range, X breaks a rule, or no columns are declared.""",
    Privacy="Uses released numbers and public facts alone: no further privacy loss. Source: inference/intervals.md.",
)
