"""What leaves a mechanism: post-processing of a release, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.privacy import PrivacyStatement


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """A fitted model in the scaled problem.

    Attributes
    ----------
    coef : (d,) or (d + 1,) with the intercept's coordinate last.
    statement : the privacy statement.
    released : block name -> the noisy numbers themselves.
    """

    coef: NDArray[np.float64]
    statement: PrivacyStatement
    released: Mapping[str, NDArray[np.float64]]
