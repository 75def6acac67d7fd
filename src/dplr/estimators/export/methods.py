"""Exports of a fitted model for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dplr._kit.validation import check_choice, check_list, sentence
from dplr.estimators.export import sql


class Exports:
    """A released model for scikit-learn and SQL: post-processing."""

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
        NotFittedError
            `fit` was not called.
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
        NotFittedError
            `fit` was not called.
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
        outputs = [*sql.OUTPUTS[:1], *sql.OUTPUTS[1 : 1 + hasattr(self, "classes_") + hasattr(self, "predict_proba")]]
        check_choice("output", output, outputs)
        quotes, inputs = sql.Quotes(quote), self._sql_columns(columns)
        keep = keep if isinstance(keep, str) else check_list("keep", keep)
        if table is not None:
            return sql.query_of(self, output, inputs, quotes, table, keep)
        if keep:
            raise ValueError(sentence("keep", "must be empty without a table", keep, "Give `table` too."))
        return sql.written(self, output, inputs, quotes)

    def _sql_columns(self, columns: Sequence[str] | None) -> list[str]:
        """Names of the columns of a table, one per feature."""
        d: int = self.n_features_in_  # type: ignore[attr-defined]
        names = getattr(self, "feature_names_in_", None) if columns is None else columns
        listed = [] if names is None or isinstance(names, str) else [str(name) for name in check_list("columns", names)]
        if len(set(listed)) < len(listed) or len(listed) != d:
            remedy = "The model was fitted on an array without names." if columns is None else ""
            raise ValueError(sentence("columns", f"must be {d} different names", columns, remedy))
        return listed
