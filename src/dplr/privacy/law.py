"""Laws of noise: what code asks of them is decided by kind, here, and nowhere by their words. Private."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from dplr._kit.validation import sentence


class Law(StrEnum):
    """The law of the noise on a block of released numbers, by its name.

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
    SUM_OF_DISCRETE_LAPLACE, SUM_OF_DISCRETE_GAUSSIAN, SUM_OF_BOTH : str
        `"sum of "` and the discrete laws of the terms: the noise of merged releases, which no sampler draws.

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
    SUM_OF_DISCRETE_LAPLACE = "sum of discrete Laplace"
    SUM_OF_DISCRETE_GAUSSIAN = "sum of discrete Gaussian"
    SUM_OF_BOTH = "sum of discrete Laplace and discrete Gaussian"

    @classmethod
    def of_sum(cls, laws: Collection[Law]) -> Law:
        """The law of a sum of discrete noises, each with one of these laws.

        Parameters
        ----------
        laws : collection of Law
            Those of its terms that have noise; empty for none.

        Returns
        -------
        Law
            One of the three sums, or `Law.NONE`.
        """
        return _SUMS[frozenset(laws)]

    @classmethod
    def _missing_(cls, value: object) -> Law:
        """Always an error: there is no law of this name."""
        names = ", ".join(repr(str(law)) for law in cls)
        raise ValueError(sentence("law", f"must be one of {names}", value, "Use a member of dplr.privacy.Law."))

    @property
    def gaussian(self) -> bool:
        """Whether there are Gaussian numbers in the noise, discrete or not: a ledger counts them."""
        return self.family in _GAUSSIAN

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
_GAUSSIAN = (Law.GAUSSIAN, Law.DISCRETE_GAUSSIAN, Law.SUM_OF_DISCRETE_GAUSSIAN, Law.SUM_OF_BOTH)
_SUMS = {
    frozenset[Law](): Law.NONE,
    frozenset({Law.DISCRETE_LAPLACE}): Law.SUM_OF_DISCRETE_LAPLACE,
    frozenset({Law.DISCRETE_GAUSSIAN}): Law.SUM_OF_DISCRETE_GAUSSIAN,
    frozenset({Law.DISCRETE_LAPLACE, Law.DISCRETE_GAUSSIAN}): Law.SUM_OF_BOTH,
}
