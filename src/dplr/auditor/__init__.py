"""Audits: how well can two neighbouring data sets be told apart by what a fit releases?

`audit` fits made-up neighbours under a user's own configuration and gives a verdict. For output and objective
perturbation of a margin loss, `log_density_ratio` is exact, and `search` looks for the worst pair of neighbours. What
exceeds the claimed eps proves the claim wrong; nothing here can prove one right.
"""

from __future__ import annotations

from dplr.auditor.density import log_density_ratio
from dplr.auditor.door import audit
from dplr.auditor.exact_search import WorstPair, search
from dplr.auditor.noise import NoiseCheck
from dplr.auditor.result import Audit
from dplr.auditor.twins import Twin

__all__ = ["Audit", "NoiseCheck", "Twin", "WorstPair", "audit", "log_density_ratio", "search"]
