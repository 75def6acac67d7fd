"""Losses for audits: twins in NumPy of those that the package minimises.

Nothing here uses the kernels or the solvers of the package, so that an error there cannot hide itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


class MarginLoss(Protocol):
    """A convex loss of the margin z = x.w and the target y, through its first two derivatives in z.

    A class of your own with these two methods is one.

    Privacy
    -------
    A loss is public; its methods are called with the rows of an audit.

    See Also
    --------
    dplr.auditing.Logistic : The logistic loss.

    Examples
    --------
    >>> from dplr.auditing import Logistic, MarginLoss
    >>> loss: MarginLoss = Logistic()
    >>> print(loss.weight(0.0, 1.0))
    0.25
    """

    def residual(self, margin: Array, y: Array, /) -> Array:
        """First derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Targets, of the same shape.

        Returns
        -------
        ndarray
            Derivatives, of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        ...

    def weight(self, margin: Array, y: Array, /) -> Array:
        """Second derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Targets, of the same shape.

        Returns
        -------
        ndarray
            Derivatives, at least 0, of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        ...


@dataclass(frozen=True, slots=True)
class Logistic:
    """Logistic loss log(1 + exp(-y z)) for y in {-1, +1}.

    The residual is at most 1 in size, and the weight at most 1/4.

    Privacy
    -------
    Public: nothing of any data is in it.

    See Also
    --------
    dplr.auditing.log_density : Takes it as `loss`.

    References
    ----------
    Its exact privacy loss in objective perturbation: objective.md, theorem 2.

    Examples
    --------
    >>> from dplr.auditing import Logistic
    >>> print(Logistic().residual(0.0, 1.0), Logistic().weight(0.0, 1.0))
    -0.5 0.25
    """

    def residual(self, margin: Array, y: Array) -> Array:
        """First derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Labels -1 and +1, of the same shape.

        Returns
        -------
        ndarray
            Derivatives, of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        return -y * special.expit(-y * margin)

    def weight(self, margin: Array, y: Array) -> Array:
        """Second derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Labels -1 and +1, of the same shape.

        Returns
        -------
        ndarray
            Derivatives in [0, 1/4], of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        return special.expit(margin) * special.expit(-margin)


@dataclass(frozen=True, slots=True)
class HuberSVM:
    """Hinge loss of y z with a parabola on ``|1 - y z| <= width``.

    The weight is at most 1 / (2 width).

    Parameters
    ----------
    width : float, default=0.5
        Half of the parabola's width, above 0.

    Privacy
    -------
    Public: nothing of any data is in it.

    See Also
    --------
    dplr.auditing.log_density : Takes it as `loss`.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate 2011 (CMS11), equation 7.

    Examples
    --------
    >>> import numpy as np
    >>> from dplr.auditing import HuberSVM
    >>> HuberSVM(0.5).weight(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    array([1., 0.])
    """

    width: float = 0.5

    def residual(self, margin: Array, y: Array) -> Array:
        """First derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Labels -1 and +1, of the same shape.

        Returns
        -------
        ndarray
            Derivatives, of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        return -y * np.clip((1 + self.width - y * margin) / (2 * self.width), 0, 1)

    def weight(self, margin: Array, y: Array) -> Array:
        """Second derivative of the loss in the margin; either one where there are two.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Labels -1 and +1, of the same shape.

        Returns
        -------
        ndarray
            Derivatives, at least 0, of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        return np.where(np.abs(1 - y * margin) <= self.width, 1 / (2 * self.width), 0.0)


@dataclass(frozen=True, slots=True)
class SoftLogistic:
    """Logistic loss of y z whose slope ends smoothly at `cut` = C <= 1.

    The slope's size s is that of the logistic loss where s <= s1 = 1 - sqrt(1 - C); from there on, C - s decays
    exponentially in -y z. Weight min(s (1 - s), C - s), at most 1/4.

    Parameters
    ----------
    cut : float, default=0.5
        Largest slope C, in (0, 1].

    Privacy
    -------
    Public: nothing of any data is in it.

    See Also
    --------
    dplr.auditing.log_density : Takes it as `loss`.

    References
    ----------
    Proof of its place in objective perturbation: objective.md, theorem 5.

    Examples
    --------
    >>> from dplr.auditing import SoftLogistic
    >>> print(f"{SoftLogistic(0.5).residual(-50.0, 1.0):.3f}")
    -0.500
    """

    cut: float = 0.5

    def residual(self, margin: Array, y: Array) -> Array:
        """First derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Labels -1 and +1, of the same shape.

        Returns
        -------
        ndarray
            Derivatives, at most `cut` in size, of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        size, rest, bent = self._parts(y * margin)
        return -y * np.where(bent, self.cut - rest, size)

    def weight(self, margin: Array, y: Array) -> Array:
        """Second derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Margins z.
        y : ndarray
            Labels -1 and +1, of the same shape.

        Returns
        -------
        ndarray
            Derivatives in [0, 1/4], of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        size, rest, bent = self._parts(y * margin)
        return np.where(bent, rest, size * (1 - size))

    def _parts(self, v: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Slope size of the logistic loss; what the slope lacks of `cut`; where the latter counts."""
        turn_size = 1 - math.sqrt(1 - self.cut)
        turn = -float(special.logit(turn_size))  # minus infinity for cut = 1
        return special.expit(-v), (self.cut - turn_size) * np.exp(np.minimum(v - turn, 0)), v < turn


@dataclass(frozen=True, slots=True)
class SoftHuber:
    """Loss of r = z - y with slope ``sign(r) C (1 - exp(-|r| / C))``, C = `width`.

    The weight is ``exp(-|r| / C)``, at most 1.

    Parameters
    ----------
    width : float, default=0.5
        Largest slope C, above 0.

    Privacy
    -------
    Public: nothing of any data is in it.

    See Also
    --------
    dplr.auditing.log_density : Takes it as `loss`.

    References
    ----------
    Proof of its place in objective perturbation: objective.md, theorem 5.

    Examples
    --------
    >>> from dplr.auditing import SoftHuber
    >>> print(SoftHuber(0.5).weight(1.0, 1.0))
    1.0
    """

    width: float = 0.5

    def residual(self, margin: Array, y: Array) -> Array:
        """First derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Predictions z.
        y : ndarray
            Targets, of the same shape.

        Returns
        -------
        ndarray
            Derivatives, at most `width` in size, of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        r = margin - y
        return -self.width * np.sign(r) * np.expm1(-np.abs(r) / self.width)

    def weight(self, margin: Array, y: Array) -> Array:
        """Second derivative of the loss in the margin.

        Parameters
        ----------
        margin : ndarray
            Predictions z.
        y : ndarray
            Targets, of the same shape.

        Returns
        -------
        ndarray
            Derivatives in [0, 1], of the same shape.

        Privacy
        -------
        Uses no noise: for rows that were made up for an audit.
        """
        return np.exp(-np.abs(margin - y) / self.width)
