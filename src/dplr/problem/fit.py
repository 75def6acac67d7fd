"""The results of a mechanism: post-processing of a release, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.privacy.statement import PrivacyStatement


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """A fitted model in the scaled problem.

    Attributes
    ----------
    coef : (d,) or (d + 1,) with the intercept's coordinate last.
    statement : the privacy statement.
    released : block name -> the noisy numbers themselves.
    iterates : (steps + 1, q) where noisy gradient descent went; None for other mechanisms.
    """

    coef: NDArray[np.float64]
    statement: PrivacyStatement
    released: Mapping[str, NDArray[np.float64]]
    iterates: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """Where noisy gradient descent went: post-processing of what was released, free to look at and to publish.

    Attributes
    ----------
    gradients : ndarray of shape (steps, n_coefs)
        Released sums of clipped gradients, in the scaled problem.
    coefs : ndarray of shape (steps + 1, n_features)
        Iterates in the user's units, the start first.
    intercepts : ndarray of shape (steps + 1,)
        Intercepts of the iterates, in the user's units.
    public_loss : ndarray of shape (steps + 1,) or None
        Mean loss on the public data; None where `public` held none.

    Privacy
    -------
    A function of released numbers and public facts: no further privacy loss.

    See Also
    --------
    dplr.NoisyGradientDescent : The mechanism that has one.
    dplr.plots.plot_history : Draws it.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> mechanism = dplr.NoisyGradientDescent(steps=5)
    >>> est = dplr.fit(X, X[:, 0] > 0, mechanism=mechanism, eps=1.0, delta=1e-6)
    >>> isinstance(est.history_, dplr.results.History)
    True
    >>> est.history_.coefs.shape
    (6, 2)
    """

    gradients: NDArray[np.float64]
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    public_loss: NDArray[np.float64] | None
