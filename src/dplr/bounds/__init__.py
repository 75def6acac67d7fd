"""Public facts of the columns. Private."""

from dplr.bounds.columns import Pair
from dplr.bounds.declared import MAX_FEATURES, Bounds
from dplr.bounds.scaling import Prep, ball_prep, box_prep, layout_prep
from dplr.problem.geometry import GRID, INTERCEPT, Geometry

__all__ = [
    "GRID",
    "INTERCEPT",
    "MAX_FEATURES",
    "Bounds",
    "Geometry",
    "Pair",
    "Prep",
    "ball_prep",
    "box_prep",
    "layout_prep",
]
