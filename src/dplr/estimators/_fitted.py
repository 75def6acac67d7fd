"""A fitted model: its columns, ranges and evaluation, and what its tables are made of; functions of its release."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplr._kit.validation import check_flag, sentence
from dplr.bounds.layout import Layout
from dplr.estimators._columns import names_of
from dplr.estimators._monotone import monotone
from dplr.estimators._subject import obstacle_of, subject_of, table_without
from dplr.estimators._tables import Tables, described
from dplr.estimators._transformers import RandomFourierFeatures, transformer_of
from dplr.fitting.release import Record
from dplr.mechanisms.protocol import Refitting, chosen_columns
from dplr.summary.curves import Points, points_of
from dplr.summary.subject import Subject
from dplr.summary.table import Summary

if TYPE_CHECKING:
    from dplr.evaluation.value import Evaluation

# The table of each fit in this process, as long as both live: nothing of what the table holds.
FITTED: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()


class Fitted(Tables):
    """The public facts and the release of a model, and what is made of both."""

    _record: Record
    n_features_in_: int
    evaluation_: Evaluation | None  # where `fit` held rows out; None where something ended it
    _alias: str | None = None  # the user's name of it, if not that of its type
    _weight_column: str | None = None  # of the table that was fitted, which predictions ignore
    _counted: bool | None = None  # whether a ledger counted the fit; None where it is not known: from a file, a search
    _searched: bool = False  # whether a private search chose it: the statement is that of the whole search
    _facts: tuple[str, ...] = ()  # assumptions of the statement that do not follow from parameters and rows
    _monotone: ClassVar[Mapping[str, str]] = {}  # columns whose curves were made so after the release

    @property
    def coef_names_(self) -> tuple[str, ...]:
        """Names of the entries of `coef_`, such as "age", "log1p(gain)", "work=Private", "age is missing"."""
        check_is_fitted(self)
        return names_of(self._record.prep.layout, getattr(self, "feature_names_in_", None), self.n_features_in_)

    @property
    def trimmed_(self) -> int | None:
        """Number of directions that `"fm"` dropped, as noise drowns them; None for other mechanisms.

        Privacy
        -------
        A function of what was released.
        """
        check_is_fitted(self)
        mechanism = self._record.mechanism
        return mechanism.trimmed(self._record.plan, self._record.parts[0]) if isinstance(mechanism, Refitting) else None

    @property
    def ranges_(self) -> dict[str, tuple[float, float]]:
        """Name to the range to which a fit and its predictions clip a number; empty where none were released.

        Privacy
        -------
        The ranges were released, and paid for by the fit.
        """
        check_is_fitted(self)
        limits = self._record.prep.limits
        if limits is None:
            return {}
        ends = zip(self.coef_names_, zip(*(side.tolist() for side in limits), strict=True), strict=True)
        return {name: pair for name, pair in ends if pair[0] > -np.inf}

    @property
    def features_(self) -> RandomFourierFeatures | None:
        """Transformer of the raw rows, as `RandomFourierFeatures` handed it over; None where there was none."""
        check_is_fitted(self)
        features = self._record.features
        return None if features is None else transformer_of(features)

    @property
    def named_coef_(self) -> dict[str, Any]:
        """Name to coefficient, a number; with more than two classes an array of shape (n_classes,)."""
        names, coef = self.coef_names_, np.atleast_2d(self.coef_)
        return dict(zip(names, coef[0].tolist() if len(coef) == 1 else coef.T, strict=True))

    def evaluate(self, X: Any, y: Any, *, eps: float, in_sample: bool = False, **options: Any) -> Evaluation:
        """Release how good this model is on private rows, once: every measure of it then costs nothing further.

        Parameters
        ----------
        X : array-like, table, path-like or Stream
            Private rows that the model was not fitted to, with the columns that `fit` saw.
        y : array-like or str
            Their outcomes, or the name of a column of X.
        eps : float
            Privacy loss of the release, above 0.
        in_sample : bool, default=False
            Whether the model was fitted to these rows. The release says so.
        **options : object
            Those of `dplr.evaluate`: ledger, thresholds, person, sample_weight, neighbouring and the others.

        Returns
        -------
        LabelEvaluation, ClassEvaluation or NumberEvaluation
            The release.

        Raises
        ------
        ValueError, TypeError
            A parameter or the rows break a rule, or X is the very table that `fit` saw in this process. No noise was
            drawn, and nothing was spent.
        BudgetExceeded
            The ledger cannot pay. No noise was drawn, and nothing was spent.

        Privacy
        -------
        A release of its own, eps-DP, which adds to what the fit spent where people are in both tables.
        """
        from dplr.evaluation.release import evaluate

        check_is_fitted(self)
        fitted = FITTED.get(self)
        if not check_flag("in_sample", in_sample) and X is not None and fitted is not None and fitted() is X:
            remedy = "Keep rows apart that no fit sees; or say in_sample=True, which flatters the model."
            rule = "must hold rows that the model was not fitted to"
            raise ValueError(sentence("X", rule, "the table that `fit` saw", remedy))
        return evaluate(self, X, y, eps=eps, in_sample=in_sample, **options)

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

    def _obstacle(self) -> str:
        check_is_fitted(self)
        return obstacle_of(self)

    def _subject(self, columns: Sequence[str] | None) -> Subject:
        check_is_fitted(self)
        return subject_of(self, columns)

    def _bare_table(self, obstacle: str) -> Summary:
        return table_without(self, obstacle)

    def _counted_rows(self, X: Any) -> NDArray[np.float64]:
        raise AttributeError("each model counts rows as its fit did")

    def _rows_and_target(self, X: Any) -> tuple[NDArray[np.float64], tuple[float, float] | None]:
        return self._counted_rows(X), self._record.prep.target

    def _columns_of_table(self) -> tuple[Sequence[str], Layout | None]:
        return self.coef_names_, self._record.prep.layout

    def _along_columns(self) -> list[Points]:
        prep, kept = self._record.prep, chosen_columns(self._record.mechanism)
        assert prep.layout is not None
        every = points_of(prep.layout, prep.counted, np.array(prep.ends, np.float64).T)
        return every if kept is None else [points for points in every if points.of(np.array(kept)).rows.any()]


described(Fitted)
