"""What is promised, and what it costs."""

from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, PrivacyWarning, Pure
from dplr.privacy.statement import PrivacyStatement, Release

__all__ = ["Approx", "Gaussian", "Neighbouring", "Poisson", "PrivacyStatement", "PrivacyWarning", "Pure", "Release"]
