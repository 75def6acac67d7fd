"""The score release.

Rounds of Newton's method whose gradients and Hessians have noise: `rounds.py` sums, adds noise and steps. The last
round gives a noisy equation, whose solution is log odds with intervals. `noise.py` divides mu^2 among rounds and
blocks, and `defaults.py` chooses the shares. Proof: score.md.
"""

from __future__ import annotations

from dplr.mechanisms.protocol import Description
from dplr.privacy.law import Law

ABOUT = Description(
    name="score",
    module="dplr.mechanisms.score.spec",
    spec="ScoreRelease",
    title="the score release",
    words="noise on sums of gradients and their slopes, from which Newton steps are made",
    laws=((Law.DISCRETE_GAUSSIAN,), (Law.DISCRETE_GAUSSIAN,)),
    arithmetic="integer",
    noise_in="sums",
    hint="score needs delta > 0 and a logistic, Huber or Poisson model",
)
