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
from dplr.fitting.run import Release
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

    _record: Release
    n_features_in_: int
    _counted_rows: Any  # (X) -> rows as the fit counts them
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

    def to_sklearn(self) -> Any:
        """Make a pipeline of scikit-learn with the same predictions, for use where dplr is not installed.

        Returns
        -------
        sklearn.pipeline.Pipeline
            Step `columns` encodes and clips as the bounds say, in steps of scikit-learn and functions of NumPy: it
            finds the columns of a data frame (pandas, polars) by name where the bounds name them. Without bounds it is
            `dplr.preprocessing.UnitBall`, for which dplr must be installed.

            Step `model` is `LogisticRegression`, `LinearSVC`, or `LinearRegression` inside a
            `TransformedTargetRegressor` that clips to the bounds of the target, with the same `coef_`, `intercept_` and
            `classes_` in the user's units; its coefficients are about ``classes_[1]``, as everywhere in scikit-learn,
            so with the other sign where `outcome_` is ``classes_[0]``. With more than two classes, logistic regression
            becomes a `OneVsRestClassifier` of `LogisticRegression`. Where margins are not log odds (link.md), steps
            `margins`, with the coefficients, and `terms` stand before `model`, whose decision function is the log odds.

        Raises
        ------
        ModuleNotFoundError
            Columns have names, and neither pandas nor polars is installed.

        Privacy
        -------
        Holds released numbers only. The statement does not come along: publish ``est.privacy_`` beside the model.

        Notes
        -----
        Predictions are the same up to the rounding of sums and logarithms. Infinite and missing values that dplr
        refuses are refused. Missing text is None or NaN; ``pandas.NA`` in text raises a TypeError.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> X = np.random.default_rng(0).uniform(-0.5, 1.5, (1000, 2))
        >>> est = dplr.fit(X, X[:, 0] > 0.5, eps=1.0, bounds=dplr.Bounds([(0, 1), (0, 1)]))
        >>> bool((est.to_sklearn().predict(X) == est.predict(X)).all())
        True
        """
        check_is_fitted(self)
        from dplr.estimators.export import steps  # parts of scikit-learn that a fit has no need of

        return steps.pipeline_of(self)

    def to_sql(
        self,
        output: str = "prediction",
        *,
        table: str | Sequence[str] | None = None,
        keep: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        quote: str = '"',
    ) -> Any:
        """Write the model as SQL: expressions over the columns of a table, or a whole query.

        Parameters
        ----------
        output : {"prediction", "margin", "probability"}, default="prediction"
            `"margin"` is the decision function of a classifier, positive for ``classes_[1]``, and `"probability"` is
            for logistic regression.
        table : str, sequence of str or None, default=None
            A table, or its schema and name. Then the result is a SELECT that computes every sum once.
        keep : sequence of str, default=()
            Columns that the SELECT copies, such as an id.
        columns : sequence of str or None, default=None
            Names of the columns in the table, in the order of the features, where the model has none or others.
        quote : {'"', '`', '['}, default='"'
            What begins a quoted name: a double quote as in the standard (PostgreSQL, DuckDB, Oracle, Snowflake), "`"
            (MySQL, BigQuery, Spark, SQLite) or "[" (SQL Server). SQLite knows all three, but takes a name in double
            quotes that no column has for text.

        Returns
        -------
        str or dict
            One expression; by label for probabilities, and for margins of more than two classes. With `table` the text
            of a SELECT, with columns such as "prediction", "probability of yes" or "margin of yes".

        Raises
        ------
        ValueError
            The model has no such output; names of columns are not known; or a name or a level is text that these quotes
            cannot hold.

        Privacy
        -------
        Holds released numbers and public facts. Names and levels are quoted, so none of them can become SQL.

        Notes
        -----
        Expressions are of CASE, arithmetic, LN, EXP and SQRT; numbers have up to 17 digits, which are exact.
        A missing value is NULL; where the bounds refuse it, so is the result. A column must have the type that the
        bounds declare: numbers in columns of numbers (double precision), text in columns of text, compared by every
        character. A database that ignores case counts more values as a level than dplr does. NaN and infinity are not
        looked for.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> X = np.random.default_rng(0).uniform(0, 1, (1000, 1))
        >>> est = dplr.fit(X, X[:, 0] > 0.5, eps=float("inf"), bounds=dplr.Bounds([(0, 1)]))
        >>> print(est.to_sql("margin", columns=["score"]))  # doctest: +ELLIPSIS
        (-...
          + ... * (CASE WHEN "score" < 0.0e+00 THEN ... ELSE "score" END))
        """
        check_is_fitted(self)
        from dplr.estimators.export import sql

        return sql.written(self, output, table, keep, columns, quote)

    def _obstacle(self) -> str:
        check_is_fitted(self)
        return obstacle_of(self)

    def _subject(self, columns: Sequence[str] | None) -> Subject:
        check_is_fitted(self)
        return subject_of(self, columns)

    def _bare_table(self, obstacle: str) -> Summary:
        return table_without(self, obstacle)

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
