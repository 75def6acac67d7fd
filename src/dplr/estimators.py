"""scikit-learn estimators and dplr.fit: the only module that imports scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
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
from dplr.rows import Labels, as_rows, check_shapes, resolve_labels


class _PrivateLinearModel(BaseEstimator):  # type: ignore[misc]
    """What both models share: from public facts and rows to coefficients in the user's units."""

    def _fit_model(self, model: str, X: Any, y: Any, refused: dict[str, Any]) -> tuple[NDArray[np.float64], float]:
        """Fit, set the attributes that both models have, and return coefficients and intercept."""
        if refused:
            raise TypeError(
                f"`fit` does not take {', '.join(refused)}: a weight multiplies what one record may change, and the "
                "sensitivity with it. Fit without weights."
            )
        eps, delta = check_eps(self.eps), check_delta(self.delta)
        mechanism = as_mechanism(self.mechanism)
        X, y = self._check_schema(X, y)
        n, d = check_shapes(X, y)
        labels = self._labels(y)
        problem, prep = prepare(
            n_rows=self._public_n_rows(n),
            n_features=d,
            columns=getattr(self, "feature_names_in_", None),
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
                    f"`X` must have numeric columns; got {unfit}. Encode them with public categories, or leave them out."
                )
            if 0 in X.shape:
                raise ValueError(sentence("X", "must have at least one row and one column", X.shape))
        else:
            X = validate_data(self, X, ensure_all_finite=False, dtype="numeric")
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        return X, column_or_1d(y, warn=True)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.sparse = False
        return tags


class LogisticRegression(ClassifierMixin, _PrivateLinearModel):  # type: ignore[misc]
    """Differentially private logistic regression for two classes.

    Parameters
    ----------
    eps : privacy loss, positive; ``float("inf")`` fits the same mechanism without noise and without privacy.
    delta : failure probability in [0, 1); 0 for pure eps-DP.
    mechanism : `"fm"` or a spec such as ``FunctionalMechanism(calibration="paper")``.
    bounds : `Bounds` of the columns from public knowledge; None takes rows to lie in the unit ball, and projects those
        outside onto it.
    classes : ``(negative, positive)``; may be left out for bool, {0, 1} and {-1, 1}, and where the bounds name them.
    fit_intercept : whether the model has an intercept.
    l2 : factor of ||w||^2 / 2 in the mean objective of the scaled problem, or `"auto"`, a function of public facts.
    neighbouring : `"replace_one"` or `"add_remove"`.
    n_rows : public number of rows; len(X) under replace_one, a declared reference (or None) under add_remove.
    rng : None for the operating system's entropy; an int makes the noise reproducible, for tests and simulation.

    Attributes
    ----------
    coef_ : (1, n_features) in the units of the user's columns.
    intercept_ : (1,).
    classes_ : (2,) labels; ``classes_[1]`` is the positive one.
    privacy_ : the `PrivacyStatement`.
    released_ : block name -> noisy numbers, in the scaled problem.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Privacy
    -------
    Protects one record (see `neighbouring`): x, y and, under add_remove, its presence. Released are `coef_`,
    `intercept_` and `released_`. Assumed public: all parameters, the bounds, the labels, and the number of rows under
    replace_one; `privacy_` lists them. Warnings and errors are for the data holder and are not private. Every call of
    `fit` spends eps anew. Source: Zhang et al. 2012; functional.md, theorem 1.

    See Also
    --------
    dplr.plan : the statement before any data is touched.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> est = dplr.LogisticRegression(eps=0.8, bounds=dplr.Bounds([(0, 10), (0, 10)])).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    >>> est.privacy_.guarantee
    Pure(eps=0.8)
    """

    def __init__(
        self,
        *,
        eps: float = 1.0,
        delta: float = 0.0,
        mechanism: Any = "fm",
        bounds: Bounds | None = None,
        classes: Any = None,
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
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.neighbouring = neighbouring
        self.n_rows = n_rows
        self.rng = rng

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Spend eps on a model of y given X.

        Parameters
        ----------
        X : (n_rows, n_features) array or data frame.
        y : (n_rows,) labels.

        Raises
        ------
        ValueError, TypeError
            A parameter or the data break a rule; no noise was drawn and nothing was spent.
        """
        coef, intercept = self._fit_model("logistic", X, y, refused)
        self.coef_ = coef[np.newaxis, :]
        self.intercept_ = np.array([intercept])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) margins: positive for ``classes_[1]``."""
        return self._margins(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """(n,) labels."""
        margins = self._margins(X)
        return np.asarray(self.classes_[(margins > 0).astype(np.intp)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, 2) probabilities, columns in the order of ``classes_``."""
        margins = self._margins(X)
        return np.column_stack([expit(-margins), expit(margins)])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, 2) logarithms of the probabilities."""
        margins = self._margins(X)
        return np.column_stack([log_expit(-margins), log_expit(margins)])

    def _labels(self, y: NDArray[Any]) -> Labels:
        declared = self.classes
        in_bounds = self.bounds.target if isinstance(self.bounds, Bounds) else None
        if declared is None:
            declared = in_bounds
        elif in_bounds is not None and list(declared) != list(in_bounds):
            raise ValueError(sentence("classes", f"must agree with the bounds, {in_bounds}", declared))
        return resolve_labels(y, declared)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


class LinearRegression(RegressorMixin, _PrivateLinearModel):  # type: ignore[misc]
    """Differentially private linear regression.

    Parameters
    ----------
    eps, delta, mechanism, bounds, fit_intercept, l2, neighbouring, n_rows, rng : as in `LogisticRegression`. The bounds'
        target is ``(lower, upper)`` of y; without it y is taken to lie in [-1, 1]. Values outside are clipped.

    Attributes
    ----------
    coef_ : (n_features,) in the units of the user's columns and target.
    intercept_ : float.
    privacy_, released_, n_features_in_, feature_names_in_ : as in `LogisticRegression`.

    Privacy
    -------
    As `LogisticRegression`; the bounds of the target are public too. Source: Zhang et al. 2012; functional.md,
    theorem 1.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 5
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-15, 35))
    >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    """

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

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Spend eps on a model of y given X.

        Parameters
        ----------
        X : (n_rows, n_features) array or data frame.
        y : (n_rows,) numbers.

        Raises
        ------
        ValueError, TypeError
            A parameter or the data break a rule; no noise was drawn and nothing was spent.
        """
        self.coef_, self.intercept_ = self._fit_model("linear", X, y, refused)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """(n,) predictions."""
        return self._margins(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


ESTIMATORS = {"logistic": LogisticRegression, "linear": LinearRegression}


def fit(X: Any, y: Any, *, eps: float, model: str = "logistic", **options: Any) -> LogisticRegression | LinearRegression:
    """Fit a differentially private model.

    Parameters
    ----------
    X : (n_rows, n_features) array or data frame.
    y : (n_rows,) labels or numbers.
    eps : privacy loss, positive.
    model : `"logistic"` or `"linear"`.
    **options : the parameters of `LogisticRegression` or `LinearRegression`.

    Returns
    -------
    LogisticRegression or LinearRegression
        The fitted estimator; ``est.privacy_`` is its privacy statement.

    Raises
    ------
    ValueError, TypeError
        A parameter or the data break a rule; no noise was drawn and nothing was spent.

    Privacy
    -------
    That of the estimator.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.array([[0.6, 0.8], [-0.6, 0.8], [0.6, -0.8], [-0.6, -0.8]] * 500)
    >>> y = X[:, 0] > 0
    >>> est = dplr.fit(X, y, mechanism="fm", eps=0.8)
    >>> est.predict(X[:2])
    array([ True, False])
    """
    return ESTIMATORS[check_choice("model", model, ESTIMATORS)](eps=eps, **options).fit(X, y)
