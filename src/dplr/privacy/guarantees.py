"""Guarantees, and the neighbours that they hold for: frozen values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Neighbouring(StrEnum):
    """Which two data sets must be hard to tell apart: a relation, by its name.

    Attributes
    ----------
    REPLACE_ONE : str
        `"replace_one"`: one record replaced by another; the number of records is public.
    ADD_REMOVE : str
        `"add_remove"`: one record added or removed; the number of records is private.

    Raises
    ------
    ValueError
        There is no relation of this name.

    Privacy
    -------
    A public name: it says whom a guarantee is about, and costs nothing.

    See Also
    --------
    dplr.privacy.Unit : What a record is: one row, or one person with all their rows.

    Examples
    --------
    >>> from dplr.privacy import Neighbouring
    >>> Neighbouring("add_remove").records_changed
    1
    """

    REPLACE_ONE = "replace_one"
    ADD_REMOVE = "add_remove"

    @property
    def sentence(self) -> str:
        """The relation in words, as a str."""
        if self is Neighbouring.REPLACE_ONE:
            return "one record replaced by another; the number of records is public"
        return "one record added or removed; the number of records is private"

    @property
    def records_changed(self) -> int:
        """In how many records the sums of neighbours may differ: 2 for replace_one, 1 for add_remove."""
        return 2 if self is Neighbouring.REPLACE_ONE else 1


@dataclass(frozen=True, slots=True)
class Pure:
    """Pure eps-differential privacy; eps = inf promises nothing.

    Parameters
    ----------
    eps : float
        Privacy loss, above 0; infinity for no promise.

    Privacy
    -------
    A promise about a release: for all neighbouring data sets and every event of releases S, P(S) <= exp(eps) P'(S). The
    value itself is public.

    See Also
    --------
    dplr.privacy.Approx : A promise with a delta.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006, definition 1.

    Examples
    --------
    >>> from dplr.privacy import Pure
    >>> print(Pure(0.8))
    pure eps-differential privacy, eps = 0.8
    """

    eps: float

    def __str__(self) -> str:
        return "none (eps = inf)" if math.isinf(self.eps) else f"pure eps-differential privacy, eps = {self.eps:g}"


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Gaussian differential privacy: as hard to tell apart as N(0, 1) and N(mu, 1).

    The noise is the discrete Gaussian, for which the statement's (eps, delta) is corrected and holds as it stands.

    Parameters
    ----------
    mu : float
        Sensitivity over the standard deviation of the noise, at least 0.

    Privacy
    -------
    A promise about a release: up to the discreteness of the noise, no test tells neighbouring data sets apart better
    than a test of N(0, 1) against N(mu, 1). For the numbers as drawn the statement's (eps, delta) holds. The value
    itself is public.

    See Also
    --------
    dplr.privacy.PrivacyStatement : Has the eps that mu implies at a delta.

    References
    ----------
    Dong, Roth and Su 2022, section 2.2.

    Examples
    --------
    >>> from dplr.privacy import Gaussian
    >>> print(Gaussian(0.25))
    up to the discreteness of the noise mu-Gaussian, mu = 0.25
    """

    mu: float

    def __str__(self) -> str:
        return f"up to the discreteness of the noise mu-Gaussian, mu = {self.mu:.6g}"


@dataclass(frozen=True, slots=True)
class Poisson:
    """Gaussian releases, each of a batch that every record joins independently with the same probability.

    The statement's (eps, delta) is the accountant's, corrected for the discreteness of the noise as in `Gaussian`.

    Parameters
    ----------
    rate : float
        Probability with which a record joins a batch, in (0, 1].
    noise_multiplier : float
        Standard deviation of the noise over the bound of one record's contribution, under both relations.
    steps : int
        Number of releases.

    Privacy
    -------
    A promise about all releases together, by the privacy loss distribution of one, composed `steps` times. For the
    numbers as drawn the statement's (eps, delta) holds; the accountant's own rounding is not charged (accounting.md,
    section 4). The value itself is public.

    See Also
    --------
    dplr.privacy.Gaussian : Releases of all records.

    References
    ----------
    Abadi et al. 2016, Algorithm 1; proof: noisy_gd.md, theorem 2.

    Examples
    --------
    >>> from dplr.privacy import Poisson
    >>> print(Poisson(rate=0.01, noise_multiplier=1.5, steps=200))
    200 Poisson-sampled Gaussian steps, rate 0.01, noise of 1.5 times a record's bound
    """

    rate: float
    noise_multiplier: float
    steps: int

    def __str__(self) -> str:
        noise = f"noise of {self.noise_multiplier:.6g} times a record's bound"
        return f"{self.steps} Poisson-sampled Gaussian steps, rate {self.rate:.6g}, {noise}"


@dataclass(frozen=True, slots=True)
class Approx:
    """(eps, delta)-differential privacy that no simpler law describes.

    Parameters
    ----------
    eps : float
        Privacy loss, above 0.
    delta : float
        What is added to what the factor exp(eps) allows, in [0, 1).

    Privacy
    -------
    A promise about a release: for all neighbouring data sets and every event of releases S, P(S) <= exp(eps) P'(S) +
    delta. The value itself is public.

    See Also
    --------
    dplr.privacy.Pure : A promise without a delta.

    References
    ----------
    Dwork, Kenthapadi, McSherry, Mironov and Naor 2006, definition 1.

    Examples
    --------
    >>> from dplr.privacy import Approx
    >>> print(Approx(1.0, 1e-6))
    (eps, delta)-differential privacy, eps = 1, delta = 1e-06
    """

    eps: float
    delta: float

    def __str__(self) -> str:
        pair = f"eps = {self.eps:g}, delta = {delta_in_words(self.delta)}"
        return f"(eps, delta)-differential privacy, {pair}"


def delta_in_words(delta: float) -> str:
    """A delta as a number, and a tiny one also as a multiple of a power of two: 5.42101e-20 is 2^-64."""
    count, parts = delta.as_integer_ratio()
    if count == 0 or count > 2**20 or parts < 2**40:
        return f"{delta:g}"
    return f"{delta:g} ({f'{count} * ' if count > 1 else ''}2^-{parts.bit_length() - 1})"
