"""Evaluations of predicted numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dplr._kit.validation import real_number, sentence
from dplr.evaluation import errors
from dplr.evaluation.grids import ErrorGrid
from dplr.evaluation.measures import Measure
from dplr.evaluation.value import Evaluation


@dataclass(frozen=True, eq=False)
class NumberEvaluation(Evaluation):
    """How good predicted numbers are, on private rows; target and prediction are clipped to the target's bounds.

    Attributes
    ----------
    grid : object
        With `low`, `high` and `edges`, which lie between the cells of the error, as fractions of high - low.
    released_ : mapping of str to ndarray
        Noisy numbers of each block. It cannot be changed.
    privacy_ : dplr.privacy.PrivacyStatement
        The statement of the release.
    n_rows : int or None
        Public number of records or persons, or a declared reference; None for neither.
    classes : tuple
        Labels, two of them as declared, the second one positive; more sorted; empty for numbers.
    in_sample : bool
        Whether the model was fitted to these rows: then all measures flatter it.
    level : float
        Level of the intervals.

    Privacy
    -------
    Holds noisy numbers and public facts: whatever is computed from it, and however often, costs nothing further.

    See Also
    --------
    dplr.evaluate : Makes one.

    Examples
    --------
    >>> import dplr, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> guess = rng.uniform(20, 80, 20_000)
    >>> result = dplr.evaluate(guess, None, guess + rng.normal(0, 5, 20_000), eps=1.0, target_bounds=(0, 100))
    >>> bool(4 < result.rmse.estimate < 6)
    True
    """

    grid: ErrorGrid

    @property
    def r2(self) -> Measure:
        """Share of the target's variance that predictions explain, R^2, a `Measure`; below 0 for a bad model."""
        one = errors.r2(self.sums).read(self.sums, self.level)
        if not one.says:
            return Measure("r2", math.nan, -math.inf, 1.0, self.level, math.nan)
        return Measure("r2", 1 - one.estimate, 1 - one.upper, 1 - one.lower, self.level, one.noise_sd)

    @property
    def rmse(self) -> Measure:
        """Root mean square error in units of the target, a `Measure`."""
        one = errors.mean_square(self.sums).read(self.sums, self.level)
        root = math.sqrt(one.estimate) if one.says else math.nan
        noise = one.noise_sd / (2 * root) if one.says and root else math.nan
        lower, upper = (math.sqrt(max(end, 0.0)) * self.grid.width for end in (one.lower, one.upper))
        return Measure("rmse", root * self.grid.width, lower, upper, self.level, noise * self.grid.width)

    @property
    def mae(self) -> Measure:
        """Mean absolute error in units of the target, a `Measure`."""
        return self._scaled("mae", errors.mean_absolute(self.sums).read(self.sums, self.level))

    @property
    def mean_error(self) -> Measure:
        """Mean of target minus prediction in units of the target, a `Measure`."""
        return self._scaled("mean_error", errors.mean_error(self.sums).read(self.sums, self.level))

    def _scaled(self, name: str, one: Measure) -> Measure:
        width = self.grid.width
        estimate, lower, upper = (value * width for value in (one.estimate, one.lower, one.upper))
        return Measure(name, estimate, lower, upper, self.level, one.noise_sd * width)

    @property
    def edges(self) -> tuple[float, ...]:
        """Sizes of errors that `within` can be asked for, in units of the target, a tuple of floats."""
        return tuple(edge * self.grid.width for edge in self.grid.edges if edge > 0)

    def within(self, size: float) -> Measure:
        """The share of rows whose error is at most this large.

        Parameters
        ----------
        size : float
            One of `edges`.

        Returns
        -------
        Measure
            The share.

        Raises
        ------
        ValueError
            The size is no edge.

        Privacy
        -------
        Costs nothing.
        """
        value = real_number("size", size)
        places = [edge for edge in self.grid.edges if edge > 0 and math.isclose(edge * self.grid.width, value)]
        if not places:
            raise ValueError(sentence("size", f"must be one of {self.edges}", size))
        return errors.within(self.grid, self.sums, places[0], self.level)

    @property
    def measures(self) -> dict[str, Measure]:
        return {one.name: one for one in (self.r2, self.rmse, self.mae, self.mean_error)}
