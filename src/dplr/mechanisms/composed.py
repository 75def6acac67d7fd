"""Gaussian releases, each of which may depend on the earlier ones, as one Gaussian mechanism: squares of mu add up."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from dplr._kit.validation import sentence
from dplr.privacy.calibration import SUM_EXPONENT, continuous_target, gaussian_blocks, root_above
from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Gaussian, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release


class Part(NamedTuple):
    """One release, or some of equal cost.

    Attributes
    ----------
    share : of mu^2.
    sensitivity : joint L2 sensitivity of the blocks, each times its weight, whatever was released before.
    blocks : name, shape and weight of each.
    exponent : the exact sums are multiples of two to this power.
    times : how many equal releases the blocks hold.
    remedy : where noise cannot be drawn.
    """

    share: Fraction
    sensitivity: float
    blocks: tuple[tuple[str, tuple[int, ...], float], ...]
    exponent: int = SUM_EXPONENT
    times: int = 1
    remedy: str = "Use a larger eps or delta."

    @property
    def numbers(self) -> int:
        return sum(math.prod(shape) for _, shape, _ in self.blocks)

    def exact(self) -> dict[str, Release]:
        grid = math.ldexp(1.0, self.exponent)
        return {name: Release(shape, self.sensitivity, Law.NONE, 0.0, grid, w) for name, shape, w in self.blocks}

    def noisy(self, ratio: Fraction, eps: float) -> dict[str, Release]:
        """The blocks with noise of this deviation over what one release charges; `eps` is for the message.

        Flooring the numbers of one release to the grid g adds at most g times the root of their number to what moves,
        nothing where g is the spacing of the sums.
        """
        names, shapes, weights = zip(*self.blocks, strict=True)
        sizes = tuple(math.prod(shape) // self.times for shape in shapes)
        noise = gaussian_blocks(self.sensitivity, ratio, weights, sizes, self.exponent)
        if noise is None:
            raise ValueError(sentence("eps", "is out of the range of the Gaussian noise", eps, self.remedy))
        charged, blocks = noise
        return {
            name: Release(shape, charged, Law.DISCRETE_GAUSSIAN, block.scale, block.grid, weight, block.units)
            for name, shape, weight, block in zip(names, shapes, weights, blocks, strict=True)
        }


@functools.lru_cache(maxsize=256)
def composed(
    parts: tuple[Part, ...], eps: float, delta: float, remedy: str
) -> tuple[Mapping[str, Release], Pure | Gaussian]:
    """The blocks of all parts with noise that makes them (eps, delta)-DP together, and their guarantee.

    The draws of all parts count together (accounting.md, theorem 4; score.md, theorem 1; noisy_gd.md, theorem 3).
    Raises ValueError where the discrete law is too far from the continuous one, or the sampler cannot draw it.
    """
    released: dict[str, Release] = {}
    if math.isinf(eps):
        for part in parts:
            released |= part.exact()
        return released, Pure(eps)
    mu = gaussian_mu(*continuous_target(eps, delta, sum(part.numbers for part in parts), remedy))
    for part in parts:
        released |= part.noisy(root_above(part.times / part.share) / Fraction(mu), eps)
    return released, Gaussian(mu)
