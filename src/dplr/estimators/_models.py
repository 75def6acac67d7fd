"""The models: their losses, labels and predictions. A new one is a loss, a class here, and places in two closed dicts.

What a fit does is that of all models (`_base.py`), and so are tables and exports.
"""

from __future__ import annotations

import os
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from dplr._kit.validation import sentence
from dplr.bounds.declared import Bounds, as_bounds, codebook_of
from dplr.estimators._base import PrivateLinearModel
from dplr.fitting.options import LabelOptions, Within, documented, estimator, limits_of, option
from dplr.fitting.run import FitInput
from dplr.problem.losses import LOGISTIC, POISSON, SQUARED, Loss, huber_residual, huber_svm, model_of
from dplr.rows import FROM_DATA, NUMERIC, OBJECTS, LabelRule, Target, declared_classes

# What the docstrings of predictions share.
_ROWS = {
    "X": """X : array-like of shape (n_rows, n_features), or table
    Rows with the columns that `fit` saw. They are counted as in the fit: clipped to the bounds, or projected onto the
    unit ball."""
}
_OF_A_PREDICTION = {
    "Raises": """NotFittedError
    `fit` was not called.
ValueError
    A column is missing, or a value is infinite, or missing without a policy.""",
    "Privacy": "A prediction is a function of the released model and of its own row. It is as private as that row.",
}
Vector = NDArray[np.float64]
Method = TypeVar("Method")


def _prediction(method: Method) -> Method:
    return documented(method, _ROWS, _OF_A_PREDICTION)


@estimator
class PrivateClassifier(ClassifierMixin, LabelOptions, PrivateLinearModel):  # type: ignore[misc]
    """A linear classifier of two labels, or of more, one against the rest.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Coefficients in the units of the user's columns, one column per number or level: see `coef_names_`. With two
        classes there is one row.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted, as scikit-learn has them: columns of predictions are in this order.
    outcome_ : object
        With two labels the one that `coef_`, tables and ratios are about, the second as declared; None with more.
    """

    _plain = "LinearSVC"

    @_prediction
    def decision_function(self, X: Any) -> Vector:
        """Compute the margins of rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Margins, positive for ``classes_[1]``, so those of `coef_` with the other sign where `outcome_` is
            ``classes_[0]``. With more than two classes there is one column per class.
        """
        margins = self._margins(X)
        return -margins if self._turned else margins

    @_prediction
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels: for each row the one with the largest margin.
        """
        margins = self.decision_function(X)
        best = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _name_target(self, ready: FitInput) -> None:
        self.target_name_: str | None = ready.data.name
        if ready.data.labels:
            self._set_labels(ready.data.labels.classes)

    def _set_labels(self, classes: NDArray[Any]) -> None:
        """The labels: two of them in the order in which they were declared."""
        self.classes_: NDArray[Any] = np.sort(classes)  # which scikit-learn's scorers take for granted
        self.outcome_: Any = classes[1].item() if len(classes) == 2 else None

    @property
    def _turned(self) -> bool:
        """Whether `coef_` is about the first of the sorted labels."""
        return len(self.classes_) == 2 and bool(self.outcome_ == self.classes_[0])

    @property
    def _decision(self) -> tuple[Vector, Vector]:
        return (-self.coef_, -self.intercept_) if self._turned else (self.coef_, self.intercept_)

    @property
    def _labels(self) -> NDArray[Any]:
        """The labels in the order of the fit: two as declared."""
        return self.classes_[::-1] if self._turned else self.classes_

    def _set_coef(self, coef: Vector, intercept: Vector) -> None:
        self.coef_: Vector = coef
        self.intercept_: Vector = intercept

    def _label_rule(self, bounds: Bounds | None) -> LabelRule:
        in_bounds = bounds.target_classes() if bounds is not None else None
        if self.classes is not None and in_bounds is not None:
            reads = isinstance(self.classes, str) and self.classes == FROM_DATA
            own = self.classes if reads else declared_classes(self.classes).tolist()
            declared = declared_classes(in_bounds).tolist()
            if own != declared:
                order = "The second of two is what the model is about: declare them once, or in one order."
                remedy = order if not reads and set(own) == set(declared) else ""
                raise ValueError(sentence("classes", f"must agree with the bounds, {in_bounds}", self.classes, remedy))
        if bounds is not None and bounds.threshold is not None:
            return LabelRule(threshold=bounds.threshold)
        return LabelRule(in_bounds if self.classes is None else self.classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        declared: Any = self.classes
        in_file = isinstance(self.bounds, str | os.PathLike)  # which only a fit reads
        if declared is None and not in_file and (bounds := codebook_of(as_bounds(self.bounds))) is not None:
            declared = bounds.target_classes()
        tags.classifier_tags.multi_class = in_file or np.size(declared) > 2  # more than two must be declared
        tags.classifier_tags.poor_score = True
        return tags


@estimator
class PrivateRegressor(RegressorMixin, PrivateLinearModel):  # type: ignore[misc]
    """A linear model of numbers.

    Parameters
    ----------
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is ``(lower, upper)`` of y, and required. None
        assumes that rows lie in the unit ball, and y in [-1, 1].
    """

    _plain = "LinearRegression"

    @_prediction
    def predict(self, X: Any) -> Vector:
        """Predict numbers.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions in the units of y, clipped to the declared bounds of the target.
        """
        margins = self._margins(X)  # which refuses a model that is not fitted
        return self._record.prep.predicted(margins)

    def _set_coef(self, coef: Vector, intercept: Vector) -> None:
        self.coef_: Vector = coef[0]
        self.intercept_: float = float(intercept[0])

    def _check_target(self, y: Target) -> Target:
        if y.numeric:
            return y
        if y.kind != OBJECTS or any(isinstance(value, (str, bytes)) for value in y.values):
            got = "text among the values" if y.kind == OBJECTS else y.type_name
            raise ValueError(sentence("y", f'must be numeric with model="{model_of(self._loss())}"', got))
        return Target(NUMERIC, y.as_float(), y.type_name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@estimator
class LogisticRegression(PrivateClassifier):
    """Differentially private logistic regression, for two classes or for more, each fitted against the rest.

    Privacy
    -------
    Protects one record (see `neighbouring`): x, y, its weight and, under add_remove, its presence; with `person` one
    person with all their records, however many, and their id. Released are `coef_`, `intercept_` and `released_`.
    Assumed public: all parameters, the bounds, the labels, and the number of rows, or of persons, under replace_one;
    `privacy_` lists them. Warnings and errors are for the data holder and are not private. Every call of `fit` spends
    eps anew. Proofs: functional.md, objective.md, output.md and noisy_gd.md, beside the mechanisms, and unit.md about
    persons and weights.

    See Also
    --------
    dplr.fit : Fit a model in one call.
    dplr.plan : Show the statement before any data is touched.
    dplr.HuberSVC : Classify with a linear support vector machine.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> est = dplr.LogisticRegression(eps=0.8, bounds=dplr.Bounds([(0, 10), (0, 10)])).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    >>> est.privacy_.guarantee.eps
    0.8
    >>> est = dplr.LogisticRegression(eps=0.8, mechanism="fm", bounds=dplr.Bounds([(0, 10)] * 2, weight_max=200))
    >>> est.fit(X, y, sample_weight=rng.uniform(0, 150, 5000)).privacy_.unit.rules
    ('weights are clipped to [0, 200] and divided by 200',)
    """

    _plain = "LogisticRegression"

    def _loss(self) -> Loss:
        return LOGISTIC

    @_prediction
    def predict_proba(self, X: Any) -> Vector:
        """Predict probabilities of the labels.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, columns in the order of ``classes_``. With more than two classes those of the models are
            normalised to a sum of 1. Where slopes of the loss were cut, or gradients clipped, margins are not log odds:
            a public map makes log odds of them (link.md). It keeps 0, so the likelier of two labels is the predicted.
        """
        log_odds = self._log_odds(X)
        if log_odds.ndim == 1:
            return np.column_stack([expit(-log_odds), expit(log_odds)])
        return np.asarray(softmax(log_expit(log_odds), axis=1))  # each over their sum, also where all are tiny

    @_prediction
    def predict_log_proba(self, X: Any) -> Vector:
        """Predict logarithms of the probabilities.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Natural logarithms of what `predict_proba` returns, without its underflow.
        """
        log_odds = self._log_odds(X)
        if log_odds.ndim == 1:
            return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
        return np.asarray(log_softmax(log_expit(log_odds), axis=1))

    def _log_odds(self, X: Any) -> Vector:
        margins = self.decision_function(X)
        return self._record.link.log_odds(margins)


@estimator
class LinearRegression(PrivateRegressor):
    """Differentially private linear regression.

    Values of y outside the bounds of the target are clipped, and so are predictions where bounds are declared.

    Parameters
    ----------
    mechanism : {"auto", "fm", "objective", "ngd", "none"} or spec, default="auto"
        `"auto"` takes the one that was best on the project's tables, a function of public facts. `"ngd"` needs delta >
        0. A spec sets options.

    Privacy
    -------
    Protects one record, or one person, as `LogisticRegression` does; the bounds of the target are public too. Proofs:
    functional.md, theorems 1 and 4, objective.md, theorems 3 and 5, and noisy_gd.md, beside the mechanisms.

    See Also
    --------
    dplr.HuberRegressor : Fit a regression that is robust to outliers.
    dplr.release_moments : Release moments once, for many regressions.
    dplr.plan : Show the statement before any data is touched.

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

    _kind = "linear"

    def _loss(self) -> Loss:
        return SQUARED


@estimator
class HuberSVC(PrivateClassifier):
    """Differentially private linear support vector machine.

    The corner of its hinge is rounded (Chaudhuri, Monteleoni and Sarwate 2011).

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` needs delta > 0. The functional mechanism has no expansion of
        this loss.
    width : float, default=0.5
        Half-width h of the rounded corner on the scale of margins, in [0.01, 10]: the hinge is quadratic for
        ``|1 - y z| <= h``. A wider corner has less curvature, which costs less of eps.

    Privacy
    -------
    Protects one record, or one person, as `LogisticRegression` does. Source: Chaudhuri, Monteleoni and Sarwate 2011;
    proofs: objective.md, output.md and noisy_gd.md, beside the mechanisms.

    See Also
    --------
    dplr.LogisticRegression : Classify with probabilities.
    dplr.losses.smoothed_hinge : Make a hinge with another rounding.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> est = dplr.HuberSVC(eps=1.0, bounds=dplr.Bounds([(0, 10), (0, 10)])).fit(X, X[:, 0] > X[:, 1])
    >>> est.score(X, X[:, 0] > X[:, 1]) > 0.9
    True
    """

    _kind = "svm"
    width: float = option(default=0.5, rule=Within("width", 0.01, 10.0))

    def _loss(self) -> Loss:
        return huber_svm(limits_of(self)["width"](self.width))


@estimator
class HuberRegressor(PrivateRegressor):
    """Differentially private linear regression that is robust to outliers.

    Its loss is linear far from the target.

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "score", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` and `"score"`, which has confidence intervals, need delta > 0.
        The functional mechanism has no expansion of this loss.
    width : float, default=0.5
        Residual at which the loss changes from quadratic to linear, in [0.01, 2], in units of half the distance between
        the bounds of the target. Noise is proportional to it.

    Privacy
    -------
    Protects one record, or one person, as `LinearRegression` does. The slope of the loss is at most `width`, its second
    derivative at most 1, so output.md, theorem 1, objective.md, theorem 1, noisy_gd.md, and score.md, lemma 4, cover
    it, beside the mechanisms.

    See Also
    --------
    dplr.LinearRegression : Fit with the squared loss.
    dplr.losses.residual_loss : Make a loss of one's own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 5
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-15, 35))
    >>> est = dplr.HuberRegressor(eps=1.0, width=0.2, mechanism="output", bounds=bounds).fit(X, y)
    >>> est.score(X, y) > 0.9
    True
    """

    _kind = "huber"
    width: float = option(default=0.5, rule=Within("width", 0.01, 2.0))

    def _loss(self) -> Loss:
        return huber_residual(limits_of(self)["width"](self.width))


@estimator
class PoissonRegressor(PrivateRegressor):
    """Differentially private Poisson regression of counts.

    The logarithm of the rate is a linear function of the columns. The likelihood is that of Poisson's law for rates up
    to the upper bound of the target, and linear in the log-rate beyond: no rate above the largest count is worth more.
    With an intercept the ridge pulls towards the rate that lies an eighth of the way from the smallest to the largest
    count, so the unit of the counts does not matter. Over the rows of the fit predictions add up to the counts, as
    clipped and weighted, up to noise: what the default ridge of `"objective"` and `"output"` adds is taken back where
    the number of rows is public, and times eps at least 1,000. Where the sum may be off by more than about 5 %,
    `summary` says by how much.

    For rates pass counts / exposure as y and the exposure as `sample_weight`, with `Bounds(..., weight_max=)`.

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "score", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` and `"score"`, which has confidence intervals, need delta > 0.
        The functional mechanism has no expansion of this loss.
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the target. Their target is the smallest and the largest count, at least 0,
        and required. Counts outside are clipped.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Coefficients of the log-rate: one unit more of a column multiplies the expected count by exp of its coefficient.
    intercept_ : float
        Intercept of the log-rate.

    Privacy
    -------
    Protects one record, as `LinearRegression` does. In units of half the distance of the target's bounds, 0 and m, the
    slope of the loss is at most 2, its second derivative too: output.md, theorem 1, objective.md, theorem 1,
    noisy_gd.md, and score.md, lemma 5, cover it.

    See Also
    --------
    dplr.LinearRegression : Fit numbers with the squared loss.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (20000, 1))
    >>> y = rng.poisson(np.exp(2 * X[:, 0]))
    >>> bounds = dplr.Bounds([(0, 1)], target=(0, 20))
    >>> est = dplr.PoissonRegressor(eps=2.0, mechanism="objective", bounds=bounds).fit(X, y)
    >>> bool(1.5 < est.coef_[0] < 2.5)
    True
    """

    _kind = "poisson"

    @_prediction
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of the Poisson deviance that is explained.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Counts of the rows.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the rows. None counts all alike.

        Returns
        -------
        float
            D^2, as scikit-learn's own Poisson regression defines it: at most 1, and 0 for a model that predicts the
            mean.

        Privacy
        -------
        Nothing protects the score: on private rows it is not private. Compute it on public rows, or keep it to
        yourself.
        """
        predicted = np.maximum(self.predict(X), np.finfo(float).tiny)
        from sklearn.metrics import d2_tweedie_score  # a fit has no need of it

        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def _loss(self) -> Loss:
        return POISSON


@estimator
class MarginClassifier(PrivateClassifier):
    """Differentially private classifier with a loss of one's own.

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` needs delta > 0. The functional mechanism has no expansion of
        such losses.
    loss : Loss or None, default=None
        Loss of the margin, made by `margin_loss` or `smoothed_hinge`. It is required.

    Privacy
    -------
    Protects one record, or one person, as `LogisticRegression` does. The loss is public: one that was chosen by a look
    at the private data is not covered. Source: Chaudhuri and Monteleoni 2008, Theorem 3; proofs: knots.md, and the
    mechanisms' own.

    See Also
    --------
    dplr.losses.margin_loss : Make a loss of the margin.
    dplr.HuberSVC : Classify with the Huber hinge.
    dplr.ResidualRegressor : Fit numbers with a loss of one's own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 2))
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)])
    >>> est = dplr.MarginClassifier(loss=dplr.losses.smoothed_hinge(0.5), eps=1.0, bounds=bounds)
    >>> est.fit(X, X[:, 0] > X[:, 1]).score(X, X[:, 0] > X[:, 1]) > 0.9
    True
    """

    _kind = "margin"
    loss: Loss | None = None

    def _loss(self) -> Loss:
        return _of_form(self._kind, self.loss)


@estimator
class ResidualRegressor(PrivateRegressor):
    """Differentially private linear regression with a loss of one's own.

    Parameters
    ----------
    mechanism : {"auto", "objective", "output", "ngd", "none"} or spec, default="auto"
        `"auto"` is a function of public facts. `"ngd"` needs delta > 0. The functional mechanism has no expansion of
        such losses.
    loss : Loss or None, default=None
        Loss of the residual, made by `residual_loss`. It is required.

    Privacy
    -------
    Protects one record, or one person, as `LinearRegression` does. The loss is public: one that was chosen by a look at
    the private data is not covered. Source: Chaudhuri and Monteleoni 2008, Theorem 3; proofs: knots.md, and the
    mechanisms' own.

    See Also
    --------
    dplr.losses.residual_loss : Make a loss of the residual.
    dplr.HuberRegressor : Fit with the Huber loss.
    dplr.MarginClassifier : Classify with a loss of one's own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 1))
    >>> def value(r):
    ...     return np.sqrt(0.01 + r**2) / 10
    >>> def slope(r):
    ...     return r / np.sqrt(0.01 + r**2) / 10
    >>> loss = dplr.losses.residual_loss(value, slope, lambda r: 0.001 * (0.01 + r**2) ** -1.5, name="pseudo Huber")
    >>> bounds = dplr.Bounds([(0, 10)], target=(0, 10))
    >>> dplr.ResidualRegressor(loss=loss, eps=1.0, bounds=bounds).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9
    True
    """

    _kind = "residual"
    loss: Loss | None = None

    def _loss(self) -> Loss:
        return _of_form(self._kind, self.loss)


def _of_form(form: str, loss: Loss | None) -> Loss:
    """A loss of a user's own that is of this form."""
    if not isinstance(loss, Loss) or loss.knots is None or loss.knots.form != form:
        raise TypeError(
            sentence("loss", f"must be a loss of the {form}", loss, f"Make one with dplr.losses.{form}_loss.")
        )
    return loss


# The class of every public model of `dplr.problem.losses.LOSSES`, and for a loss of a user's own, by its form.
ESTIMATORS: dict[str, Any] = {
    "logistic": LogisticRegression,
    "linear": LinearRegression,
    "svm": HuberSVC,
    "huber": HuberRegressor,
    "poisson": PoissonRegressor,
}
OWN: dict[str, Any] = {"margin": MarginClassifier, "residual": ResidualRegressor}
