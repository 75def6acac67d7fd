"""Evaluations of decisions among labels, with probabilities where the model gives them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.evaluation.grids import ClassGrid
from dplr.evaluation.measures import Measure, mean
from dplr.evaluation.value import Evaluation


@dataclass(frozen=True, eq=False)
class ClassEvaluation(Evaluation):
    """How good decisions among labels are, on private rows.

    Attributes
    ----------
    grid : object
        With `edges` between the cells of the probability of the decision; empty for a model that gives decisions alone.
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
    >>> y = rng.integers(0, 3, 20_000)
    >>> decisions = np.where(rng.uniform(size=20_000) < 0.8, y, 0)
    >>> result = dplr.evaluate(decisions, None, y, eps=1.0, classes=(0, 1, 2), decisions=True)
    >>> bool(result.recall(0).upper >= 0.99), result.log_loss.says
    (True, False)
    """

    grid: ClassGrid

    @property
    def _tables(self) -> NDArray[np.float64]:
        """(bands, K, K) zeros: a form by band, decision and outcome."""
        k = self.grid.classes
        return np.zeros((len(self.grid.edges) + 1, k, k))

    def _read(self, name: str, first: NDArray[np.float64], second: NDArray[np.float64]) -> Measure:
        one, two = np.zeros(len(self.sums.values)), np.zeros(len(self.sums.values))
        one[: self.sums.cells], two[: self.sums.cells] = first.ravel(), second.ravel()
        return mean(name, self.sums, one, two).read(self.sums, self.level)

    def _label(self, label: Any) -> int:
        if not np.isscalar(label) or label not in self.classes:
            raise ValueError(sentence("label", f"must be one of {list(self.classes)}", label))
        return self.classes.index(label)

    @property
    def accuracy(self) -> Measure:
        """Share of right decisions, a `Measure`."""
        right = self._tables + np.eye(self.grid.classes)
        return self._read("accuracy", right, np.ones_like(right))

    def recall(self, label: Any) -> Measure:
        """Share of right decisions among the rows of a label.

        Parameters
        ----------
        label : object
            One of `classes`.

        Returns
        -------
        Measure
            The recall.

        Raises
        ------
        ValueError
            There is no such label.

        Privacy
        -------
        Costs nothing.
        """
        place, right, every = self._label(label), self._tables, self._tables
        right[:, place, place], every[:, :, place] = 1.0, 1.0
        return self._read(f"recall of {label}", right, every)

    def precision(self, label: Any) -> Measure:
        """Share of right decisions among the decisions for a label.

        Parameters
        ----------
        label : object
            One of `classes`.

        Returns
        -------
        Measure
            The precision.

        Raises
        ------
        ValueError
            There is no such label.

        Privacy
        -------
        Costs nothing.
        """
        place, right, every = self._label(label), self._tables, self._tables
        right[:, place, place], every[:, place, :] = 1.0, 1.0
        return self._read(f"precision of {label}", right, every)

    def confusion(self) -> dict[tuple[Any, Any], Measure]:
        """Read the shares of all rows by decision and outcome.

        Returns
        -------
        dict of (decision, outcome) to Measure
            One share for each pair of labels.

        Privacy
        -------
        Costs nothing.
        """
        shares = {}
        for i, decision in enumerate(self.classes):
            for j, outcome in enumerate(self.classes):
                cell, every = self._tables, self._tables + 1.0
                cell[:, i, j] = 1.0
                shares[decision, outcome] = self._read(f"{decision} for {outcome}", cell, every)
        return shares

    def calibration(self) -> tuple[tuple[float, float, Measure], ...]:
        """Share of right decisions among rows whose decision has a probability in a cell.

        Returns
        -------
        tuple of (float, float, Measure)
            Lowest and highest probability, and share of right decisions; empty where the model gives none.

        Privacy
        -------
        Costs nothing.
        """
        if not self.grid.probabilities:
            return ()
        marks = [1 / self.grid.classes, *self.grid.edges, 1.0]
        points = []
        for band, (low, high) in enumerate(itertools.pairwise(marks)):
            right, every = self._tables, self._tables
            right[band], every[band] = np.eye(self.grid.classes), 1.0
            points.append((low, high, self._read("right", right, every)))
        return tuple(points)

    def _loss(self, name: str) -> Measure:
        losses = self.grid.losses
        if name not in losses.names:
            return Measure(name, math.nan, 0.0, math.inf, self.level, math.nan)
        place, cells = losses.names.index(name), self.sums.cells
        form, every = np.zeros(len(self.sums.values)), np.zeros(len(self.sums.values))
        form[:cells], every[:cells] = losses.middles[:, place], 1.0
        form[cells + place] = 1.0
        high = float((losses.middles + losses.halves)[:, place].max())
        within = losses.halves[:, place] ** 2
        return mean(name, self.sums, form, every, high, within).read(self.sums, self.level)

    @property
    def brier(self) -> Measure:
        """Mean over rows of the sum over labels of (probability - outcome)^2, from 0 to 2, a `Measure`."""
        return self._loss("brier")

    @property
    def log_loss(self) -> Measure:
        """Mean log-loss of probabilities of at least 0.001, a `Measure`."""
        return self._loss("log_loss")

    @property
    def measures(self) -> dict[str, Measure]:
        measures = [self.accuracy]
        if self.grid.probabilities:
            measures += [self.brier, self.log_loss]
        for label in self.classes:
            measures += [self.recall(label), self.precision(label)]
        return {one.name: one for one in measures}
