"""Differentially private classifier with a loss of one's own."""

from __future__ import annotations

from typing import ClassVar

from dplr._kit.validation import sentence
from dplr.estimators._classifier import PrivateClassifier
from dplr.fitting.options import estimator
from dplr.problem.losses import Loss


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
    bounds : Bounds, mapping, path-like or None, default=None
        What is public of the columns and the labels. None assumes that rows lie in the unit ball, and projects those
        outside onto it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns) or (n_classes, n_columns)
        Coefficients in the units of the user's columns, one column per number or level.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted, as scikit-learn has them: columns of predictions are in this order.
    outcome_ : object
        With two labels the one that `coef_`, tables and ratios are about, the second as declared; None with more.

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

    _plain = "LinearSVC"
    _kind: ClassVar[str] = "margin"
    loss: Loss | None = None

    def _loss(self) -> Loss:
        loss = self.loss
        if not isinstance(loss, Loss) or loss.knots is None or loss.knots.form != "margin":
            remedy = "Make one with dplr.losses.margin_loss."
            raise TypeError(sentence("loss", "must be a loss of the margin", loss, remedy))
        return loss
