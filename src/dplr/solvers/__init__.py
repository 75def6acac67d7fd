"""Solvers: know no rows and no privacy."""

from dplr.solvers._newton import certified, newton, sample_step
from dplr.solvers._quadratic import is_positive_definite, solve_quadratic, stein_coef
from dplr.solvers._refits import newton_many

__all__ = [
    "certified", "is_positive_definite", "newton", "newton_many", "sample_step", "solve_quadratic", "stein_coef",
]  # fmt: skip
