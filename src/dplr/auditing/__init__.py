"""Audits: how well can two neighbouring data sets be told apart by what a mechanism releases?

Exact, for output and objective perturbation of margin losses: `log_density` and `log_density_ratio` in closed form,
`search` for the worst pair of neighbours, `hockey_stick` for its delta. Sampled, for any mechanism: `eps_lower_bound`
from one event, `mu_lower_bound` with `gaussian_eps` for Gaussian noise. A log ratio or lower bound above the claimed
eps proves the claim wrong; nothing here can prove one right.
"""

from dplr.auditing._density import log_density, log_density_ratio, minimiser
from dplr.auditing._hockey_stick import hockey_stick
from dplr.auditing._losses import HuberSVM, Logistic, MarginLoss, SoftHuber, SoftLogistic
from dplr.auditing._sampled import eps_lower_bound, gaussian_eps, mu_lower_bound
from dplr.auditing._search import WorstPair, search

__all__ = [
    "HuberSVM",
    "Logistic",
    "MarginLoss",
    "SoftHuber",
    "SoftLogistic",
    "WorstPair",
    "eps_lower_bound",
    "gaussian_eps",
    "hockey_stick",
    "log_density",
    "log_density_ratio",
    "minimiser",
    "mu_lower_bound",
    "search",
]
