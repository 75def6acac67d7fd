"""The columns of a fitted model, their ranges, and the number of directions that it dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplr.estimators._columns import names_of
from dplr.estimators._fourier import RandomFourierFeatures, transformer_of
from dplr.fitting.release import Record
from dplr.mechanisms.protocol import Refitting


class ModelFacts:
    """Names, ranges and features of a fitted model: public facts and post-processing of its release."""

    _record: Record
    coef_: NDArray[np.float64]
    _alias: str | None = None  # the user's name of it, if not that of its type
    _weight_column: str | None = None  # of the table that was fitted, which predictions ignore
    _counted: bool | None = None  # whether a ledger counted the fit; None where it is not known: from a file, a search
    _searched: bool = False  # whether a private search chose it: the statement is that of the whole search
    _facts: tuple[str, ...] = ()  # assumptions of the statement that do not follow from parameters and rows

    @property
    def coef_names_(self) -> tuple[str, ...]:
        """Names of the entries of `coef_`, such as "age", "log1p(gain)", "work=Private", "age is missing".

        Raises
        ------
        NotFittedError
            `fit` was not called.
        """
        check_is_fitted(self)
        fitted: Any = self
        return names_of(fitted._record.prep.layout, getattr(self, "feature_names_in_", None), fitted.n_features_in_)

    @property
    def trimmed_(self) -> int | None:
        """Number of directions that `"fm"` dropped, as noise drowns them; None for other mechanisms.

        Raises
        ------
        NotFittedError
            `fit` was not called.

        Privacy
        -------
        A function of what was released.
        """
        check_is_fitted(self)
        record = self._record
        mechanism = record.mechanism
        return mechanism.trimmed(record.plan, record.parts[0]) if isinstance(mechanism, Refitting) else None

    @property
    def ranges_(self) -> dict[str, tuple[float, float]]:
        """Name to the range to which a fit and its predictions clip a number; empty where none were released.

        Raises
        ------
        NotFittedError
            `fit` was not called.

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
        """Transformer of the raw rows, as `RandomFourierFeatures` handed it over; None where there was none.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        """
        check_is_fitted(self)
        features = self._record.features
        return None if features is None else transformer_of(features)

    @property
    def named_coef_(self) -> dict[str, Any]:
        """Name to coefficient, a number; with more than two classes an array of shape (n_classes,).

        Raises
        ------
        NotFittedError
            `fit` was not called.
        """
        names, coef = self.coef_names_, np.atleast_2d(self.coef_)
        return dict(zip(names, coef[0].tolist() if len(coef) == 1 else coef.T, strict=True))
