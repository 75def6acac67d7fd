"""What leaves a mechanism: post-processing of a release, nothing else."""

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
    gradients : (steps, q) the released sums of clipped gradients, in the scaled problem.
    coefs : (steps + 1, n_features) iterates in the user's units, the start first.
    intercepts : (steps + 1,)
    public_loss : (steps + 1,) mean loss on the public data; None where `public` held none.
    """

    gradients: NDArray[np.float64]
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    public_loss: NDArray[np.float64] | None
