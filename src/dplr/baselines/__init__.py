"""Methods with which Zhang et al. (2012) compared the functional mechanism: for comparisons, not for releases.

`DPME` and `FilterPriority` are private, with proofs in histogram.md; `truncated` is not. Without noise and without
truncation there is ``dplr.fit(..., mechanism="none", eps=float("inf"))``.
"""

from dplr.baselines.models import DPME, FilterPriority
from dplr.baselines.truncated import truncated

__all__ = ["DPME", "FilterPriority", "truncated"]
