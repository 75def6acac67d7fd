"""Solvers: know no rows and no privacy. Private.

`newton.py` minimises an objective whose sums somebody else computes, until `certificate.py` bounds the gradient; the
last steps may need pairs of floats (`fine.py`). `refits.py` minimises many objectives of one loss pass by pass, and
`quadratic.py` solves what the functional mechanism released.
"""

from dplr.solvers.fine import FineObjective, descend, refine
from dplr.solvers.newton import Minimum, certified, sample_step
from dplr.solvers.quadratic import adassp_ridge, count_kept, is_positive_definite, solve_quadratic
from dplr.solvers.refits import newton_many

__all__ = [
    "FineObjective", "Minimum", "adassp_ridge", "certified", "count_kept", "descend", "is_positive_definite",
    "newton_many", "refine", "sample_step", "solve_quadratic",
]  # fmt: skip
