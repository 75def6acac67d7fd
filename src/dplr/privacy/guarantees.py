"""What may be promised, and about which neighbours: frozen values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Neighbouring(StrEnum):
    """Which two data sets must be hard to tell apart."""

    REPLACE_ONE = "replace_one"
    ADD_REMOVE = "add_remove"

    @property
    def sentence(self) -> str:
        """The relation in words."""
        if self is Neighbouring.REPLACE_ONE:
            return "one record replaced by another; the number of records is public"
        return "one record added or removed; the number of records is private"

    @property
    def records_changed(self) -> int:
        """In how many records the sums of neighbours may differ: 2 for replace_one, 1 for add_remove."""
        return 2 if self is Neighbouring.REPLACE_ONE else 1


@dataclass(frozen=True, slots=True)
class Pure:
    """Pure eps differential privacy; eps = inf promises nothing."""

    eps: float

    def __str__(self) -> str:
        """Return the guarantee in words."""
        return "none (eps = inf)" if math.isinf(self.eps) else f"pure eps-differential privacy, eps = {self.eps:g}"


@dataclass(frozen=True, slots=True)
class Gaussian:
    """mu-Gaussian differential privacy: as hard to tell apart as N(0, 1) and N(mu, 1).

    The noise is the discrete Gaussian, for which the statement's (eps, delta) is corrected and holds as it stands.
    """

    mu: float

    def __str__(self) -> str:
        """Return the guarantee in words."""
        return f"up to the discreteness of the noise mu-Gaussian, mu = {self.mu:.6g}"


@dataclass(frozen=True, slots=True)
class Poisson:
    """`steps` Gaussian releases, each of a batch that every record joins independently with probability `rate`.

    `noise_multiplier` is the standard deviation over the bound of one record's contribution, under both relations.
    The statement's (eps, delta) is the accountant's, corrected for the discreteness of the noise as in `Gaussian`.
    """

    rate: float
    noise_multiplier: float
    steps: int

    def __str__(self) -> str:
        """Return the guarantee in words."""
        noise = f"noise of {self.noise_multiplier:.6g} times a record's bound"
        return f"{self.steps} Poisson-sampled Gaussian steps, rate {self.rate:.6g}, {noise}"


@dataclass(frozen=True, slots=True)
class Approx:
    """(eps, delta) differential privacy that no simpler law describes."""

    eps: float
    delta: float

    def __str__(self) -> str:
        """Return the guarantee in words."""
        pair = f"eps = {self.eps:g}, delta = {delta_in_words(self.delta)}"
        return f"(eps, delta)-differential privacy, {pair}; other pairs follow from the theorem"


def delta_in_words(delta: float) -> str:
    """A delta as a number, and a tiny one also as a multiple of a power of two: 5.42101e-20 is 2^-64."""
    count, parts = delta.as_integer_ratio()
    if count == 0 or count > 2**20 or parts < 2**40:
        return f"{delta:g}"
    return f"{delta:g} ({f'{count} * ' if count > 1 else ''}2^-{parts.bit_length() - 1})"
