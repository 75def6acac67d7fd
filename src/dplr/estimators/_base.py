"""What the estimators share: from the user's parameters and data to a fit, and back to the user's units."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from dplr import _fit
from dplr._validation import check_choice, check_count, check_delta, check_eps, sentence
from dplr.bounds import Bounds
from dplr.ledger import NullLedger
from dplr.mechanisms import as_mechanism
from dplr.noise import Source
from dplr.planning import prepare
from dplr.privacy import Neighbouring, PrivacyWarning
from dplr.rows import Labels, as_rows, check_shapes


class PrivateLinearModel(BaseEstimator):  # type: ignore[misc]
    """What both models share: from public facts and rows to coefficients in the user's units."""

    def __init__(
        self,
        *,
        eps: float = 1.0,
        delta: float = 0.0,
        mechanism: Any = "fm",
        bounds: Bounds | None = None,
        fit_intercept: bool = True,
        l2: float | str = "auto",
        neighbouring: str = "replace_one",
        n_rows: int | None = None,
        rng: int | None = None,
    ) -> None:
        self.eps = eps
        self.delta = delta
        self.mechanism = mechanism
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.neighbouring = neighbouring
        self.n_rows = n_rows
        self.rng = rng

    def _fit_model(self, model: str, X: Any, y: Any, refused: dict[str, Any]) -> tuple[NDArray[np.float64], float]:
        """Fit, set the attributes that both models have, and return coefficients and intercept."""
        if refused:
            reason = (
                ": a weight multiplies what one record may change, and the sensitivity with it. Fit without weights."
                if "sample_weight" in refused
                else "; it takes X and y. Parameters belong to the constructor."
            )
            raise TypeError(f"`fit` does not take {', '.join(refused)}{reason}")
        eps, delta = check_eps(self.eps), check_delta(self.delta)
        mechanism = as_mechanism(self.mechanism)
        X, y = self._check_schema(X, y)
        n, d = check_shapes(X, y)
        labels = self._labels(y)
        problem, prep = prepare(
            n_rows=self._public_n_rows(n),
            n_features=d,
            columns=[str(name) for name in X.columns] if hasattr(X, "columns") else None,
            bounds=self.bounds,
            model=model,
            fit_intercept=self.fit_intercept,
            l2=self.l2,
            neighbouring=self.neighbouring,
            label_codes=labels.codes if labels else None,
            assumptions=(labels.assumption,) if labels else (),
        )
        rows = as_rows(X, labels.y if labels else y, prep)
        fit = _fit.run(rows, problem, mechanism, eps, delta, NullLedger(), self._source())
        self.privacy_ = fit.statement
        self.released_ = fit.released
        if labels:
            self.classes_ = labels.classes
        return prep.to_user_units(fit.coef)

    def _check_schema(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Shapes and types only: values are checked while they are summed, so X is read once."""
        if hasattr(X, "iloc"):
            validate_data(self, X, skip_check_array=True)
            unfit = [name for name, kind in X.dtypes.items() if getattr(kind, "kind", "O") not in "biuf"]
            if unfit:
                raise ValueError(
                    f"`X` must have numeric columns; got {unfit}. Encode them with public categories, or drop them."
                )
            if 0 in X.shape:
                raise ValueError(sentence("X", "must have at least one row and one column", X.shape))
        else:
            X = validate_data(self, X, ensure_all_finite=False, dtype="numeric")
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        return X, self._check_target(column_or_1d(y, warn=True))

    def _check_target(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _labels(self, y: NDArray[Any]) -> Labels | None:
        return None

    def _public_n_rows(self, n: int) -> int | None:
        """len(X) is public under replace_one only; under add_remove nothing but a declared reference is used."""
        check_choice("neighbouring", self.neighbouring, [str(kind) for kind in Neighbouring])
        declared = None if self.n_rows is None else check_count("n_rows", self.n_rows)
        if self.neighbouring == Neighbouring.ADD_REMOVE:
            return declared
        if declared not in (None, n):
            raise ValueError(sentence("n_rows", f"must be len(X) = {n} under replace_one", declared, "Leave it out."))
        return n

    def _source(self) -> Source:
        if self.rng is None:
            return Source()
        if isinstance(self.rng, bool) or not isinstance(self.rng, (int, np.integer)):
            remedy = "Generator objects are refused: copies of an estimator would share their noise."
            raise TypeError(sentence("rng", "must be None or an int", self.rng, remedy))
        warnings.warn(
            "rng is set: the noise can be reproduced, so this fit protects nobody. Use rng=None for a real release.",
            PrivacyWarning,
            stacklevel=4,
        )
        return Source(int(self.rng))

    def _margins(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0], dtype=np.float64)

    def _html_repr(self) -> str:
        """scikit-learn's parser of docstrings warns of the section Privacy, which it does not know."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unknown section Privacy")
            return str(super()._html_repr())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.sparse = False
        return tags
