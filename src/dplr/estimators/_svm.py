"""Support vector machine with the Huber hinge loss."""

from __future__ import annotations

from typing import ClassVar

from dplr.estimators._classifier import PrivateClassifier
from dplr.fitting.options import Within, estimator, limits_of, option
from dplr.problem.losses import Loss, huber_svm


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

    _plain = "LinearSVC"
    _kind: ClassVar[str] = "svm"
    width: float = option(default=0.5, rule=Within("width", 0.01, 10.0))

    def _loss(self) -> Loss:
        return huber_svm(limits_of(self)["width"](self.width))
