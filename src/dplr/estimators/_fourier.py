"""Random Fourier features as a step before a model: a kernel without a kernel matrix, and nothing learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from dplr._kit.keywords import suggests
from dplr._kit.validation import sentence
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds
from dplr.bounds.fourier import FourierMap, check_parameters, scaled
from dplr.estimators._html import TransformerView
from dplr.estimators._values import named
from dplr.rows import as_table, encoded


class FeatureRows(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of rows with the map that made them, so that a model can name the map.

    A selection of rows keeps the map; any other array made of them has none. The array is read-only, so that its rows
    stay those of the map.
    """

    features: FourierMap | None

    def __array_finalize__(self, made_from: Any) -> None:
        self.features = None

    def __getitem__(self, key: Any) -> Any:
        """Return a part of the array."""
        part = super().__getitem__(key)
        rows = key[0] if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis else key
        if isinstance(part, FeatureRows) and part.ndim == 2 == self.ndim and not isinstance(rows, tuple):
            part.flags.writeable = False
            part.features = self.features
        return part

    def __reduce__(self) -> Any:
        """Pickle the map with the rows."""
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


class RandomFourierFeatures(TransformerView, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters, and remember the columns.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Array, or table of pandas, polars or Arrow.
        y : None, default=None
            Not used.

        Returns
        -------
        self
            This object.

        Raises
        ------
        ValueError, TypeError
            A parameter breaks a rule, or a column is missing.

        Privacy
        -------
        No value of a row is kept.
        """
        bounds = self._declared_bounds()
        if bounds is None:
            named("X", validate_data, self, X, dtype=np.float64, ensure_all_finite=False)
        else:
            _fitting(X, bounds)
        return self

    def transform(self, X: Any) -> Any:
        """Compute the features of rows, each by itself.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or table
            Array, or table of pandas, polars or Arrow.

        Returns
        -------
        ndarray of shape (n_rows, 2 * n_components)
            Rows of norm 1: all cosines, then all sines. The array is read-only, and names the map that made it.

        Raises
        ------
        ValueError, TypeError
            A column is missing, or not of the declared type. **Values are not refused here**: where one is missing
            without a policy, infinite, or too large for a projection, the row is NaN, and a fit refuses it after it
            has asked its ledger.

        Privacy
        -------
        The result is as private as its rows.
        """
        bounds = self._declared_bounds()
        if bounds is None:
            rows = named("X", validate_data, self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
            names = getattr(self, "feature_names_in_", None)
        else:
            table, layout = _fitting(X, bounds)
            rows, names = scaled(encoded(table, layout), layout), None
        columns = None if names is None else tuple(str(name) for name in names)
        features = FourierMap(*self._numbers(), bounds, rows.shape[1], columns)
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

    def _numbers(self) -> tuple[int, str, float, int]:
        return int(self.n_components), self.kernel, float(self.bandwidth), int(self.seed)

    def _declared_bounds(self) -> Bounds | None:
        check_parameters(self.n_components, self.kernel, self.bandwidth, self.seed)
        bounds = as_bounds(self.bounds)
        if bounds is not None and not bounds.columns:
            remedy = "Persons and weights belong to the bounds of the model behind it."
            raise ValueError(sentence("bounds", "must have columns", bounds, remedy))
        return bounds

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan, tags.input_tags.string = True, self.bounds is not None
        return tags


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


def _fitting(X: Any, bounds: Bounds) -> tuple[Any, Any]:
    """Rows as a table or an array, and the layout of their columns."""
    table = None if type(X) is np.ndarray else as_table(X)
    rows: Any = named("X", check_array, X, dtype=np.float64, ensure_all_finite=False) if table is None else table
    return rows, bounds.for_columns(None if table is None else table.columns, rows.shape[1])
