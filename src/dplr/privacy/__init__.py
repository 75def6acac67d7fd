"""What is promised, and what it costs."""

from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.statement import PrivacyStatement, Release

__all__ = ["Approx", "Gaussian", "Neighbouring", "Poisson", "PrivacyStatement", "Pure", "Release"]
