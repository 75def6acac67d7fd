"""Bounds and levels of columns, learned from private rows by a release of its own. Private.

`grid.py` has the public numbers among which bounds are chosen, `choice.py` the exponential mechanism in whole numbers,
`law.py` what each choice may cost, `selection.py` the bounds of one column and `levels.py` the levels of text,
`learned.py` the outcome as a value. `release.py` pays for it. Proofs: quantiles.md.
"""

from __future__ import annotations

from dplr.mechanisms.protocol import Description
from dplr.privacy.law import Law

ABOUT = Description(
    name="bounds",
    module="dplr.quantiles.release",
    spec="learn_bounds",
    title="bounds learned from the data",
    words="random choices among public numbers, by how many records lie outside",
    laws=((Law.DISCRETE_LAPLACE,), (Law.DISCRETE_LAPLACE,)),
    arithmetic="integer",
    noise_in="sums",
)
