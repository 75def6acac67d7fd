"""The curves of a fitted model, with bands where its release gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplr._kit.validation import sentence
from dplr.estimators._heading import target_of
from dplr.estimators._monotone import monotone
from dplr.fitting.release import Record
from dplr.inference.intervals import check_level, intervals
from dplr.mechanisms.protocol import chosen_columns
from dplr.summary.columns import INTERCEPT
from dplr.summary.curves import Bands, ColumnCurve, Curves, Points, curves_of, ordered, points_of, words_of
from dplr.summary.subject import Equation, Subject

Matrix = NDArray[np.float64]


class HasCurves:
    """The curves of a fitted model: the effect of each number on a prediction."""

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

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            No columns are declared, or the level is out of range.

        Privacy
        -------
        Post-processing of the release and of public facts: no further privacy loss.

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
        obstacle, level = self._obstacle(), None if level is None else check_level(level)  # type: ignore[attr-defined]
        names, layout = self._columns_of_table()  # type: ignore[attr-defined]
        if layout is None:
            remedy = "Without bounds nobody knows where a curve begins and ends."
            raise ValueError(sentence("bounds", "must be declared for curves", None, remedy))
        points = self._along_columns()
        coefs = np.atleast_2d(np.asarray(getattr(self, "coef_"), np.float64))  # noqa: B009  set by a fit
        labels = [str(label) for label in self.classes_.tolist()] if len(coefs) > 1 else [""]  # type: ignore[attr-defined]
        about = "" if getattr(self, "outcome_", None) is None else target_of(self)
        subject = None if level is None or obstacle else self._subject(None)  # type: ignore[attr-defined]
        every: list[ColumnCurve] = []
        for k, (label, coef) in enumerate(zip(labels, coefs, strict=True)):
            bands = None if subject is None or level is None else bands_of(subject, subject.equations[k], names, level)
            every += curves_of(points, coef, label, bands)
        if subject is None:
            return Curves(ordered(every), words_of(self.privacy_.estimand, about))  # type: ignore[attr-defined]
        words = f"Bands: {level:.0%} confidence intervals, each by itself."
        return Curves(ordered(every), words_of(subject.equations[0].reading.estimand, about), words)

    def _along_columns(self) -> list[Points]:
        """The places of every number that the model has."""
        record: Record = cast(Any, self)._record
        prep, kept = record.prep, chosen_columns(record.mechanism)
        assert prep.layout is not None
        every = points_of(prep.layout, prep.counted, np.array(prep.ends, np.float64).T)
        return every if kept is None else [points for points in every if points.of(np.array(kept)).rows.any()]


class HasMonotone(HasCurves):
    """A fitted model whose curves can be made monotone."""

    _monotone: ClassVar[Mapping[str, str]] = {}  # columns whose curves were made so after the release

    def monotone(self, directions: Mapping[str, str]) -> Self:
        """Make another model from the same release, whose curves of some columns only rise or only fall.

        Parameters
        ----------
        directions : mapping of str to {"increasing", "decreasing"}
            Column to its direction. It must be known before the release is seen, or else it is a guess from it.

        Returns
        -------
        estimator
            A copy that predicts with the nearest monotone curves (isotonic regression at the knots, all places within
            the bounds alike), those of each level among them. The line of such a curve is 0, and its knots hold all of
            it. `summary` and the bands of `effects` stay those of the release.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError, TypeError
            A column is no curve of the model, or a product multiplies its line; a direction is unknown.

        Privacy
        -------
        Post-processing of the release: no further privacy loss.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> X = np.random.default_rng(0).uniform(0, 10, (2000, 1))
        >>> est = dplr.fit(X, X[:, 0] > 3, bounds=dplr.Bounds([(0, 10)]), curves=8, eps=1.0)
        >>> risen = est.monotone({"column 0": "increasing"})
        >>> bool(np.all(np.diff(risen.decision_function(np.linspace(0, 10, 50)[:, None])) >= -1e-9))
        True
        """
        check_is_fitted(self)
        model: Self = monotone(self, directions)
        return model


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
