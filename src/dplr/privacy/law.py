"""Laws of noise: what code asks of them is decided by kind, here, and nowhere by their words. Private."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum

from dplr._validation import sentence


class Law(StrEnum):
    """The law of the noise on a block of released numbers, by its name.

    The law of a sum of noises has no name and is no member: `of_sum` makes it, and `Law` reads its words back.

    Attributes
    ----------
    NONE : str
        `"none"`: the numbers are exact.
    DISCRETE_LAPLACE, DISCRETE_GAUSSIAN : str
        `"discrete Laplace"` and `"discrete Gaussian"`: whole numbers of grid units, from the integer sampler.
    NORM_GAMMA : str
        `"norm-Gamma"`: density proportional to exp(-||z|| / scale).
    GAUGE : str
        `"gauge"`: density proportional to exp(-N(z) / scale), N the gauge of the body that holds all rows.
    GAUSSIAN : str
        `"Gaussian"`: normal numbers.
    NORM_GAMMA_IN_OBJECTIVE, GAUGE_IN_OBJECTIVE, GAUSSIAN_IN_OBJECTIVE : str
        The last three followed by `" in the objective"`: the noise is a linear term of the objective, and is not added
        to the numbers.

    Raises
    ------
    ValueError
        There is no law of this name.

    Privacy
    -------
    A public name: noise hides the rows though everybody knows its law.

    See Also
    --------
    dplr.privacy.Release : Has the law of its noise.

    Examples
    --------
    >>> from dplr.privacy import Law
    >>> law = Law("Gaussian in the objective")
    >>> law.gaussian, law.discrete, str(law.family)
    (True, False, 'Gaussian')
    """

    NONE = "none"
    DISCRETE_LAPLACE = "discrete Laplace"
    DISCRETE_GAUSSIAN = "discrete Gaussian"
    NORM_GAMMA = "norm-Gamma"
    GAUGE = "gauge"
    GAUSSIAN = "Gaussian"
    NORM_GAMMA_IN_OBJECTIVE = "norm-Gamma in the objective"
    GAUGE_IN_OBJECTIVE = "gauge in the objective"
    GAUSSIAN_IN_OBJECTIVE = "Gaussian in the objective"

    @classmethod
    def of_sum(cls, count: int, laws: Collection[Law]) -> Law:
        """The law of a sum of discrete noises.

        Parameters
        ----------
        count : int
            How many noises are added.
        laws : collection of Law
            Those that they have; empty for no noise.

        Returns
        -------
        Law
            No member, except `Law.NONE` without laws.
        """
        terms = [law for law in (cls.DISCRETE_LAPLACE, cls.DISCRETE_GAUSSIAN) if law in laws]
        return cls(f"sum of {count} {' and '.join(terms)}") if terms else cls.NONE

    @classmethod
    def _missing_(cls, value: object) -> Law:
        """The law of a sum, from its words."""
        if not isinstance(value, str) or not _terms(value):
            names = ", ".join(repr(str(law)) for law in cls)
            raise ValueError(sentence("law", f"must be one of {names}", value, "Use a member of dplr.privacy.Law."))
        law = str.__new__(cls, value)
        law._name_, law._value_ = "SUM", value
        return law

    @property
    def gaussian(self) -> bool:
        """Whether there are Gaussian numbers in the noise, discrete or not: a ledger counts them."""
        return any(law.family in (Law.DISCRETE_GAUSSIAN, Law.GAUSSIAN) for law in _terms(self) or (self,))

    @property
    def discrete(self) -> bool:
        """Whether the integer sampler draws the noise, given a scale or variance in grid units; False for a sum."""
        return self in (Law.DISCRETE_LAPLACE, Law.DISCRETE_GAUSSIAN)

    @property
    def family(self) -> Law:
        """The `Law` of the vector that is drawn, wherever it is added: without `" in the objective"`."""
        return _FAMILIES.get(self, self)

    def in_the_objective(self) -> Law:
        """The law of noise of this family that is a linear term of the objective.

        Returns
        -------
        Law
            The member with `" in the objective"`; for no noise `Law.NONE`.
        """
        return _IN_OBJECTIVE[self]


_IN_OBJECTIVE = {
    Law.NONE: Law.NONE,
    Law.NORM_GAMMA: Law.NORM_GAMMA_IN_OBJECTIVE,
    Law.GAUGE: Law.GAUGE_IN_OBJECTIVE,
    Law.GAUSSIAN: Law.GAUSSIAN_IN_OBJECTIVE,
}
_FAMILIES = {there: family for family, there in _IN_OBJECTIVE.items()}
_SUM = re.compile("sum of [1-9][0-9]* (.*)")
_SUMS: dict[str, tuple[Law, ...]] = {
    "discrete Laplace": (Law.DISCRETE_LAPLACE,),
    "discrete Gaussian": (Law.DISCRETE_GAUSSIAN,),
    "discrete Laplace and discrete Gaussian": (Law.DISCRETE_LAPLACE, Law.DISCRETE_GAUSSIAN),
}


def _terms(words: str) -> tuple[Law, ...]:
    """The laws of the noises in a sum, from its words; empty for what is no sum."""
    match = _SUM.fullmatch(words)
    return _SUMS.get(match[1], ()) if match else ()
