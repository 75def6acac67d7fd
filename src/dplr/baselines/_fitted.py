"""The attributes that a baseline takes over from the model of its cells, with their types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class CellModel:
    """A model of cells after its fit. `classes_` and `feature_names_in_` are there where the model has them."""

    coef_: NDArray[np.float64]
    intercept_: float | NDArray[np.float64]
    classes_: NDArray[Any]
    outcome_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    target_name_: str | None
