"""Noisy moments of a table, released once: many regressions from them. Private.

`release.py` pays once for the second moments of all columns. `released.ReleasedMoments` is that release as a value,
which `file.py` saves and `merging.py` adds to those of other parties. `model.py` makes linear models of it at no
further cost, `selection.py` by names of columns. Proofs: moments.md.
"""

from __future__ import annotations

from dplr.mechanisms.protocol import Description
from dplr.privacy.law import Law

ABOUT = Description(
    name="moments",
    module="dplr.moments.release",
    spec="release_moments",
    title="noisy second moments of a table",
    words="noise on sums over the records, from which regressions are computed",
    laws=((Law.DISCRETE_LAPLACE,), (Law.DISCRETE_GAUSSIAN,)),
    arithmetic="integer",
    noise_in="sums",
)
