"""Steps before a model that learn nothing: columns as bounds have them, the unit ball, features of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from dplr._kit.keywords import suggests
from dplr._kit.validation import sentence
from dplr.bounds.columns import Pair
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds, codebook_of
from dplr.bounds.fourier import FourierMap, check_parameters, scaled
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import in_unit_ball
from dplr.estimators._columns import named
from dplr.estimators._html import TransformerView
from dplr.rows import as_table, encoded, predictors


class _Transformer(TransformerView, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A step that needs no fit, but to remember columns."""

    _remembers = False  # whether it transforms rows of the columns alone that `fit` saw

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters, and remember the columns where no bounds say them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table, default=None
            Rows, of which the columns alone are looked at. `BoundsEncoder` uses none.
        y : None, default=None
            Not used.

        Returns
        -------
        self
            This object.

        Raises
        ------
        ValueError, TypeError
            A parameter breaks a rule, or a column is missing; without bounds, X must be rows of numbers.

        Privacy
        -------
        No value of a row is kept.
        """
        self._look_at(X)
        return self

    def transform(self, X: Any) -> Any:
        """Transform rows, each by itself.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Array, or table of pandas, polars or Arrow; `UnitBall` takes rows of numbers.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            By `BoundsEncoder` columns in the units of `coef_`: numbers in the user's units, or on the scale of their
            transform, clipped to their bounds; 0 or 1 for levels, bins and marks; positions for ordinal levels;
            products of numbers less their middles. They are not scaled to the unit ball. By `UnitBall` rows of norm at
            most 1; those inside the ball stay as they are. By `RandomFourierFeatures` rows of norm 1: all cosines, then
            all sines, in an array that is read-only, and names the map that made it.

        Raises
        ------
        ValueError, TypeError
            A column is missing or not of the declared type, or a value is infinite, or missing without a policy.
            **`RandomFourierFeatures` refuses no value**: the row is NaN, and a fit refuses it after it has asked its
            ledger.
        NotFittedError
            `UnitBall.fit` was not called.

        Privacy
        -------
        The result is as private as its rows. Every row is transformed by itself and by public facts.
        """
        return self._transformed(X)

    def _look_at(self, X: Any) -> None:
        raise NotImplementedError

    def _transformed(self, X: Any) -> Any:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return not self._remembers or hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit, tags.input_tags.allow_nan = self._remembers, not self._remembers
        tags.input_tags.string = getattr(self, "bounds", None) is not None
        return tags


def _declared_rows(X: Any, bounds: Bounds) -> tuple[Any, Layout]:
    """Rows as a table or an array, and the layout of their columns."""
    table = None if type(X) is np.ndarray else as_table(X)
    rows: Any = named("X", check_array, X, dtype=np.float64, ensure_all_finite=False) if table is None else table
    return rows, bounds.for_columns(None if table is None else table.columns, rows.shape[1])


class BoundsEncoder(_Transformer):
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

    def _declared_bounds(self) -> Bounds:
        bounds = codebook_of(as_bounds(self.bounds))
        if bounds is None:
            remedy = "Without bounds there is nothing to encode."
            raise TypeError(sentence("bounds", "must be declared", self.bounds, remedy))
        return bounds

    def _look_at(self, X: Any) -> None:
        self._declared_bounds()

    def _transformed(self, X: Any) -> NDArray[np.float64]:
        rows, layout = _declared_rows(X, self._declared_bounds())
        names, ranges = layout.names, {} if self.ranges is None else self.ranges
        if not isinstance(ranges, Mapping):
            raise TypeError(sentence("ranges", "must be None, or a mapping of columns to pairs", ranges))
        if unknown := [name for name in ranges if name not in names]:
            raise ValueError(sentence("ranges", f"must name columns of the model, {list(names[:10])}", unknown))
        ends = np.array([ranges.get(name, pair) for name, pair in zip(names, layout.pairs, strict=True)], np.float64)
        return np.asarray(np.clip(predictors(rows, layout), *ends.T))

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


class UnitBall(OneToOneFeatureMixin, _Transformer):  # type: ignore[misc]
    """Project rows onto the unit ball, as a fit without bounds counts them.

    It is the first step of `to_sklearn()` where no bounds are declared. It learns the names of the columns and nothing
    else.

    Privacy
    -------
    Each row is projected by itself.

    See Also
    --------
    dplr.preprocessing.BoundsEncoder : Encode and clip rows as bounds say.

    Examples
    --------
    >>> import dplr
    >>> dplr.preprocessing.UnitBall().fit_transform([[3.0, 4.0], [0.3, 0.4]])
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """

    _remembers = True

    def _look_at(self, X: Any) -> None:
        named("X", validate_data, self, X)

    def _transformed(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return in_unit_ball(named("X", validate_data, self, X, reset=False, dtype=np.float64))


class FeatureRows(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of rows with the map that made them, so that a model can name the map.

    A selection of rows keeps the map; any other array made of them has none. The array is read-only, so that its rows
    stay those of the map.
    """

    features: FourierMap | None

    def __array_finalize__(self, made_from: Any) -> None:
        self.features = None

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        rows = key[0] if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis else key
        if isinstance(part, FeatureRows) and part.ndim == 2 == self.ndim and not isinstance(rows, tuple):
            part.flags.writeable = False
            part.features = self.features
        return part

    def __reduce__(self) -> Any:
        return made_by, (np.asarray(self), self.features)


def made_by(rows: NDArray[np.float64], features: FourierMap | None) -> FeatureRows:
    """The rows as a read-only array that names this map."""
    rows.flags.writeable = False
    view = rows.view(FeatureRows)
    view.features = features
    view.flags.writeable = False
    return view


def handed_over(X: Any) -> tuple[Any, FourierMap | None]:
    """X as a plain array, and the map that made its rows; anything else as it is, and None."""
    if not isinstance(X, FeatureRows):
        return X, None
    features, plain = X.features, np.asarray(X)
    if features is None or plain.flags.writeable or plain.dtype != np.float64:
        return plain, None  # the array was written to or reshaped: its rows are no longer those of the map
    return plain, features if plain.shape[1:] == (2 * features.n_components,) else None


def check_map(X: Any, features: FourierMap | None) -> None:
    """Refuse rows made by another map than the model's; rows that name no map are accepted."""
    _, origin = handed_over(X)
    if origin is not None and origin != features:
        fitted = "raw rows" if features is None else str(transformer_of(features))
        remedy = f"The model was fitted to {fitted}."
        raise ValueError(sentence("X", "must be rows of the model's own features", str(transformer_of(origin)), remedy))


def declared(bounds: Bounds | None, features: FourierMap | None) -> Bounds | None:
    """The bounds of a fit: those of the features where these made the rows, with the target that they declare."""
    if features is None:
        return bounds
    if bounds is not None:
        remedy = "Their rows have norm 1 already. Give the bounds of the raw columns, and the target, to the features."
        raise ValueError(sentence("bounds", "must be None behind RandomFourierFeatures", bounds, remedy))
    return features.bounds


class RandomFourierFeatures(_Transformer):
    """Cosines and sines of random projections: a linear model of them is one of a kernel.

    Every row becomes ``(cos(w_k.x), sin(w_k.x)) / sqrt(n_components)`` for `n_components` frequencies w_k that are
    drawn from the seed (Rahimi and Recht 2007). Its norm is 1, whatever the row holds, so a model behind it needs no
    bounds of its own. Inner products of two such rows differ from the kernel by about 1 / sqrt(n_components). It learns
    nothing: `fit` looks at the number of columns and their names. The defaults of the first three parameters were good
    on every table measured, with bounds (kernels.md in the documentation).

    Parameters
    ----------
    n_components : int, default=100
        Number of frequencies, each a cosine and a sine: at most 2048, for 4096 columns. More come closer to the kernel
        and cost more noise.
    kernel : {"laplacian", "gaussian"}, default="laplacian"
        exp(-||x - x'||_1 / bandwidth), or exp(-||x - x'||^2 / (2 bandwidth^2)).
    bandwidth : float, default=3.0
        A positive number in the units of the rows: with bounds those of the unit ball, where numbers are centred and
        two rows are at most 2 apart; without bounds the user's. It is public.
    seed : int, default=0
        What the frequencies are drawn from: at least 0 and below 2^63. It is public.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the raw columns: rows are encoded, missing values and levels included, and scaled to the unit
        ball. A model behind it takes its target from them. None takes numbers as they stand, which then need no bounds:
        the norm is 1 for every number.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns that `fit` saw, without bounds. With bounds these say it.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of these columns, where X has any.

    Raises
    ------
    ValueError, TypeError
        By `fit` and `transform`: a parameter or a row breaks a rule. A bandwidth must be a number: one that is taken
        from the rows would need noise.

    Privacy
    -------
    Every row is transformed by itself and by public facts, so a model behind it keeps its promise, with the norm 1 that
    is proved in fourier.md. Kernel, bandwidth, number of components, seed and bounds are public, and must not be chosen
    by the private rows or by scores on them. The array that `transform` returns names them to the model, for its
    statement and its model file. A frame (`set_output`) and what else is made of the array names nothing: the statement
    then says that whatever scaled the rows is public. Transformed rows are as private as the rows.

    See Also
    --------
    dplr.LogisticRegression : Fit a model of the features; ``est.features_`` is then this transformer.
    dplr.preprocessing.BoundsEncoder : See the columns that bounds make.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> inside = (X**2).sum(axis=1) < 0.5
    >>> features = dplr.preprocessing.RandomFourierFeatures(50, kernel="gaussian", bandwidth=0.7)
    >>> model = make_pipeline(features, dplr.LogisticRegression(eps=1.0, mechanism="objective")).fit(X, inside)
    >>> model.score(X, inside) > 0.9
    True
    >>> model[-1].features_
    RandomFourierFeatures(bandwidth=0.7, kernel='gaussian', n_components=50)
    """

    @suggests
    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str = "laplacian",
        bandwidth: float = 3.0,
        seed: int = 0,
        bounds: BoundsLike = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.seed = seed
        self.bounds = bounds

    def _declared_bounds(self) -> Bounds | None:
        check_parameters(self.n_components, self.kernel, self.bandwidth, self.seed)
        bounds = as_bounds(self.bounds)
        if bounds is not None and not bounds.columns:
            remedy = "Persons and weights belong to the bounds of the model behind it."
            raise ValueError(sentence("bounds", "must have columns", bounds, remedy))
        return bounds

    def _look_at(self, X: Any) -> None:
        bounds = self._declared_bounds()
        if bounds is None:
            named("X", validate_data, self, X, dtype=np.float64, ensure_all_finite=False)
        else:
            _declared_rows(X, bounds)

    def _transformed(self, X: Any) -> FeatureRows:
        bounds, names = self._declared_bounds(), None
        if bounds is None:
            rows = named("X", validate_data, self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
            if (columns := getattr(self, "feature_names_in_", None)) is not None:
                names = tuple(str(name) for name in columns)
        else:
            table, layout = _declared_rows(X, bounds)
            rows = scaled(encoded(table, layout), layout)
        numbers = int(self.n_components), self.kernel, float(self.bandwidth), int(self.seed)
        features = FourierMap(*numbers, bounds, rows.shape[1], names)
        return made_by(features.features(rows), features)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Name the features: "cos0", "cos1", ..., "sin0", ...

        Parameters
        ----------
        input_features : sequence of str or None, default=None
            Not used.

        Returns
        -------
        ndarray of shape (2 * n_components,)
            Names, in the order of the columns.
        """
        pairs = range(self.n_components)
        return np.array([f"{wave}{k}" for wave in ("cos", "sin") for k in pairs], dtype=object)


def transformer_of(features: FourierMap) -> RandomFourierFeatures:
    """The transformer of a map, for the columns that the map takes."""
    transformer = RandomFourierFeatures(
        features.n_components,
        kernel=features.kernel,
        bandwidth=features.bandwidth,
        seed=features.seed,
        bounds=features.bounds,
    )
    if features.bounds is None:
        transformer.n_features_in_ = features.width
        if features.names is not None:
            transformer.feature_names_in_ = np.array(features.names, dtype=object)
    return transformer
