"""Audits of a user's own configuration: fits of made-up neighbours, how much they tell, and a verdict."""

from __future__ import annotations

from dplr.auditor.door import audit
from dplr.auditor.noise import NoiseCheck
from dplr.auditor.result import Audit
from dplr.auditor.twins import Twin

__all__ = ["Audit", "NoiseCheck", "Twin", "audit"]
