"""The uncertainty of the coefficients of a fitted model: post-processing of its release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplr._kit.validation import capital, check_flag, real_number, sentence
from dplr.bounds.layout import Layout
from dplr.estimators._bands import Banded
from dplr.estimators._heading import drowned, facts_of, notes_of_target, table_without, target_of, title_of
from dplr.estimators._tests import Tests
from dplr.fitting.aims import full_factors
from dplr.fitting.release import Record
from dplr.mechanisms.protocol import Refitting, Tabled, chosen_columns
from dplr.privacy.statement import alarms
from dplr.problem.geometry import GRID
from dplr.summary.clipped import clippings
from dplr.summary.columns import compared_with, groups_of, parts_of_curves, positions
from dplr.summary.ends import Ends
from dplr.summary.equations import equations_of, readings_of
from dplr.summary.subject import Subject, all_ends, notes_of, summarise
from dplr.summary.table import Summary

_SEARCHED = ("The model was chosen among several on the same rows; the intervals do not count that.",)
# What does not need equal variances: another aim, or where that was taken a model whose columns are those of the table.
_ROBUST, _OWN_FIT = "; aim='coefficients' does not need it", "; a fit of these columns alone does not need it"
_MONOTONE = "its curves were made monotone after the release, which is about the curves before"


class Inference(Tests, Banded):
    """Tables, intervals and tests of a fitted model."""

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

        Parameters
        ----------
        columns : sequence of str or None, default=None
            Names of columns, or of coefficients, that the model is made of. None takes all. Fewer columns are another
            model from the same release: its coefficients are not adjusted for the columns left out.
        level : float, default=0.95
            Probability of each interval, in (0, 1).
        joint : bool, default=False
            Whether all intervals hold together with that probability (Bonferroni).
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns: what a flag adds to the mean, to the probability or to the
            log odds, or a number from the middle of its range to an end. Intervals of other columns count it, and a
            table marks them. None takes the declared width of the target, the probability 1, and log odds or
            logarithms of rates of 6 for flags, levels and bins. Of a number it takes nothing: lines that depend on one
            that noise drowns cannot say.

        Returns
        -------
        Summary
            It prints as text of at most 15 lines; `to_text`, `to_frame`, `to_html`, `to_latex`, `to_csv` and `to_dict`
            give all of it. Estimates with intervals are those without ridge and trimming, so they differ from `coef_`,
            which predicts better. Levels are compared with a reference: the declared one, or else the first.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            A column is unknown, or a level is out of range; or an option of intervals is given, and the release allows
            none.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/intervals.md.

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
            fitted: Any = self
            return table_without(fitted, obstacle, _SEARCHED if fitted._searched else ())
        subject = self._subject(columns)
        check_flag("joint", joint)
        return summarise(subject, real_number("level", level), joint, effect_bound, most)

    def conf_int(
        self,
        level: float = 0.95,
        *,
        columns: Sequence[str] | None = None,
        joint: bool = False,
        effect_bound: float | None = None,
    ) -> dict[str, Any]:
        """Compute confidence intervals of the coefficients in the user's units.

        Parameters
        ----------
        level : float, default=0.95
            Probability of each interval, in (0, 1).
        columns : sequence of str or None, default=None
            Names of columns, or of coefficients, that the model is made of. None takes all. Fewer columns are another
            model from the same release: its coefficients are not adjusted for the columns left out.
        joint : bool, default=False
            Whether all intervals hold together with that probability (Bonferroni).
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns: what a flag adds to the mean, to the probability or to the
            log odds, or a number from the middle of its range to an end. Intervals of other columns count it, and a
            table marks them. None takes the declared width of the target, the probability 1, and log odds or
            logarithms of rates of 6 for flags, levels and bins. Of a number it takes nothing: lines that depend on one
            that noise drowns cannot say.

        Returns
        -------
        dict
            Name to ``(low, high)``, the intercept as "(intercept)". Ends are infinite where the released numbers cannot
            say. With more than two classes, a dictionary like this for each label. Its method `to_frame` makes a
            pandas data frame with the columns `low` and `high`.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            The release allows no intervals: those of `aim="coefficients"` do. A
            column is unknown, or a level is out of range.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/intervals.md.

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
        intervals = [
            Ends(zip(subject.names, map(tuple, ends.tolist()), strict=True))
            for ends in all_ends(subject, level, joint, effect_bound)
        ]
        return Ends(self._by_label(intervals))

    def _obstacle(self) -> str:
        """Why the release allows no intervals; empty where it does."""
        check_is_fitted(self)
        fitted: Any = self
        record: Record = fitted._record
        if fitted._monotone and not isinstance(record.mechanism, Refitting):  # whose equation is about the coefficients
            return _MONOTONE
        return record.mechanism.lacks_intervals(record.plan)

    @property
    def _weighted(self) -> bool:
        """Whether rows count differently."""
        fitted: Any = self
        return bool(fitted.privacy_.unit.weighted)

    def _by_label(self, results: Sequence[Any]) -> Any:
        """The only one, or those of each label by label."""
        fitted: Any = self
        return results[0] if len(results) == 1 else dict(zip(fitted.classes_.tolist(), results, strict=True))

    def _rows_and_target(self, X: Any) -> tuple[NDArray[np.float64], tuple[float, float] | None]:
        """Rows as the fit counts them, and the declared bounds of the target."""
        fitted: Any = self
        return fitted._counted_rows(X), fitted._record.prep.target

    def _columns_of_table(self) -> tuple[Sequence[str], Layout | None]:
        """Names of the columns that a table may have, and what is declared of them."""
        fitted: Any = self
        return fitted.coef_names_, fitted._record.prep.layout

    def _subject(self, columns: Sequence[str] | None) -> Subject:
        """The subject of this model's tables; raise ValueError where its release allows none."""
        check_is_fitted(self)
        fitted: Any = self
        record: Record = fitted._record
        mechanism = check_intervals(record, self._obstacle())
        names, prep = fitted.coef_names_, record.prep
        coefs = [np.zeros(0)] * len(record.parts) if isinstance(mechanism, Refitting) else _scaled(fitted)
        readings = readings_of(record, coefs)
        kept = chosen_columns(mechanism)
        if columns is not None:
            places = positions(names, prep.layout, columns)
            kept = places if kept is None else within(names, places, kept)
        summed = self._weighted and not mechanism.whole and record.plan.problem.unit.person is None
        clustered = any(reading.clustered for reading in readings)
        if kept is not None and (mechanism.whole or clustered):
            remedy = "The equation of a score holds for its own columns alone: fit a model of these."
            if clustered:
                remedy = (
                    "How rows of one person depend on each other was released for all columns: fit a model of these."
                )
            rule = "with persons" if clustered else f'with mechanism="{mechanism.about.name}"'
            raise ValueError(sentence("columns", f"must be None {rule}", columns, remedy))
        robust = any(reading.robust for reading in readings)
        labels = [str(label) for label in fitted.classes_.tolist()] if len(readings) > 1 else [""]
        selection, equations = equations_of(record, readings, names, labels, kept)
        return Subject(
            equations=equations,
            names=selection.names,
            references=selection.references,
            title=title_of(fitted),
            facts=facts_of(fitted.privacy_, target_of(fitted), readings[0].n_rows, summed),
            notes=(
                *notes_of(prep.layout, selection.names, selection.references),
                *notes_of_target(record.plan.problem.loss, prep.target, fitted.privacy_.unit),
                *(_SEARCHED if fitted._searched else ()),
            ),
            against=compared_with(prep.layout, selection.references, selection.coordinates),
            alarms=alarms(fitted.privacy_),
            advice=drowned(fitted),
            clipped={name: clipping for name, clipping in clippings(names, prep).items() if name in selection.names},
            full=full_factors(prep.layout),
            parts=parts_of_curves(prep.layout),
            groups=groups_of(prep.layout, selection.names),
            unit=math.nan if prep.labels or self._weighted else GRID / float(prep.scale[-1]),
            weighted=self._weighted,
            whole=mechanism.whole or clustered,
            counted="" if summed else fitted.privacy_.unit.many if clustered else "rows",
            otherwise="" if prep.labels else _OWN_FIT if robust else _ROBUST,
            boxed=prep.geometry.half_width is not None,
        )


def check_intervals(record: Record, lacking: str) -> Tabled:
    """The mechanism of a release with confidence intervals; raises ValueError where they are `lacking`, and why."""
    if lacking:
        rule = "must release what confidence intervals need"
        name = record.mechanism.about.name
        raise ValueError(sentence("mechanism", rule, name, f"{capital(lacking)}."))
    assert isinstance(record.mechanism, Tabled)
    return record.mechanism


def _scaled(fitted: Any) -> list[NDArray[np.float64]]:
    """The scaled coefficients of each model."""
    prep = fitted._record.prep
    pairs = zip(np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_), strict=True)
    return [np.array(prep.from_user_units(coef, float(intercept))) for coef, intercept in pairs]


def within(names: Sequence[str], places: Sequence[int], kept: Sequence[int]) -> tuple[int, ...]:
    """The columns asked for, which must be those of the model."""
    missing = [names[j] for j in places if j not in kept]
    if missing:
        raise ValueError(sentence("columns", "must be columns of this model", ", ".join(missing), "It was refitted."))
    return tuple(places)
