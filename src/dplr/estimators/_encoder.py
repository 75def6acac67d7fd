"""The columns that a model sees, as a transformer that learns nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array

from dplr._kit.validation import sentence
from dplr.bounds.columns import Pair
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds, codebook_of
from dplr.bounds.layout import Layout
from dplr.estimators._html import TransformerView
from dplr.estimators._values import named
from dplr.rows import as_table, predictors


class BoundsEncoder(TransformerView, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode, transform and clip rows as a model with these bounds sees them.

    There is one column per number, level, bin or mark, then those of products, in the order of `coef_`. It is for
    public rows, such as those of a baseline without privacy, and for looking at what bounds do. It learns nothing:
    `fit` does nothing.

    Parameters
    ----------
    bounds : Bounds, mapping or path-like
        The declared columns. The target is not used.
    ranges : mapping of str to (float, float), or None, default=None
        Name of a column of the model to the narrower range to which a fitted model clips it, such as ``est.ranges_``.
        None clips to the declared bounds alone.

    Privacy
    -------
    The result is as private as its rows. Every row is encoded by itself and by public facts.

    See Also
    --------
    dplr.LogisticRegression.to_sklearn : Make a pipeline of a fitted model with its own steps.
    dplr.preprocessing.RandomFourierFeatures : Make features of a kernel.

    Examples
    --------
    >>> import dplr, pandas as pd
    >>> bounds = dplr.Bounds({"age": (18, 99), "work": {"levels": ["none", "some"], "missing": "indicator"}})
    >>> encoder = dplr.preprocessing.BoundsEncoder(bounds)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'work=none', 'work=some', 'work is missing']
    >>> encoder.transform(pd.DataFrame({"work": ["some", None], "age": [40, 120]}))
    array([[40.,  0.,  1.,  0.],
           [99.,  0.,  0.,  1.]])
    """

    def __init__(self, bounds: BoundsLike, ranges: Mapping[str, Pair] | None = None) -> None:
        self.bounds = bounds
        self.ranges = ranges

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the bounds; nothing is learned from rows.

        Parameters
        ----------
        X : object, default=None
            Not used.
        y : None, default=None
            Not used.

        Returns
        -------
        self
            This object.

        Raises
        ------
        ValueError, TypeError
            The bounds are missing or break a rule.

        Privacy
        -------
        No row is read.
        """
        self._declared_bounds()
        return self

    def _declared_bounds(self) -> Bounds:
        bounds = codebook_of(as_bounds(self.bounds))
        if bounds is None:
            remedy = "Without bounds there is nothing to encode."
            raise TypeError(sentence("bounds", "must be declared", self.bounds, remedy))
        return bounds

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode rows, each by itself.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Array, or table of pandas, polars or Arrow.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Columns in the units of `coef_`: numbers in the user's units, or on the scale of their transform, clipped to
            their bounds; 0 or 1 for levels, bins and marks; positions for ordinal levels; products of numbers less
            their middles. They are not scaled to the unit ball.

        Raises
        ------
        ValueError, TypeError
            A column is missing or not of the declared type, or a value is infinite, or missing without a policy.

        Privacy
        -------
        The result is as private as its rows.
        """
        bounds = self._declared_bounds()
        table = None if type(X) is np.ndarray else as_table(X)
        rows = named("X", check_array, X, dtype=np.float64, ensure_all_finite=False) if table is None else table
        layout = bounds.for_columns(None if table is None else table.columns, rows.shape[1])
        return np.asarray(np.clip(predictors(rows, layout), *self._ends(layout)))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Name the columns, such as "age", "log1p(gain)", "work=Private", "age is missing".

        Parameters
        ----------
        input_features : sequence of str or None, default=None
            Names of the columns of bounds by position. None calls them "column 0" and so on.

        Returns
        -------
        ndarray of shape (n_columns,)
            Names, in the order of the columns.

        Raises
        ------
        ValueError, TypeError
            The bounds are missing or break a rule.
        """
        layout = self._declared_bounds().layout
        if not layout.named and input_features is not None:
            layout = replace(layout, features=tuple(str(name) for name in input_features))
        return np.array(layout.names, dtype=object)

    def _ends(self, layout: Layout) -> NDArray[np.float64]:
        """(2, n_columns) least and greatest values."""
        names, ranges = layout.names, {} if self.ranges is None else self.ranges
        if not isinstance(ranges, Mapping):
            raise TypeError(sentence("ranges", "must be None, or a mapping of columns to pairs", ranges))
        if unknown := [name for name in ranges if name not in names]:
            raise ValueError(sentence("ranges", f"must name columns of the model, {list(names[:10])}", unknown))
        pairs = [ranges.get(name, pair) for name, pair in zip(names, layout.pairs, strict=True)]
        return np.array(pairs, np.float64).T

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags
