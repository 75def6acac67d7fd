"""Evaluations of probabilities of two labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr._kit.validation import check_count, check_positive, real_number, sentence
from dplr.evaluation import ranking
from dplr.evaluation.grids import ScoreGrid
from dplr.evaluation.measures import Measure, mean
from dplr.evaluation.value import Evaluation

Form = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CostThreshold:
    """The threshold at which decisions cost least, with a set of thresholds that holds the true one.

    Attributes
    ----------
    threshold : float
        The edge with the least estimated cost.
    lower, upper : float
        Ends of the confidence set: the true best edge is within them, at the level of the evaluation.
    cost : Measure
        Mean cost of a row at `threshold`, in units of the larger of both costs.

    Privacy
    -------
    Computed from a release: costs nothing.

    See Also
    --------
    dplr.evaluation.LabelEvaluation : Has one for each pair of costs.

    Examples
    --------
    >>> from dplr.evaluation import CostThreshold, Measure
    >>> CostThreshold(0.2, 0.1, 0.3, Measure("cost", 0.1, 0.09, 0.11, 0.95, 0.002)).threshold
    0.2
    """

    threshold: float
    lower: float
    upper: float
    cost: Measure


@dataclass(frozen=True, eq=False)
class LabelEvaluation(Evaluation):
    """How good probabilities of two labels are, on private rows.

    A score of at least the threshold counts as a decision for ``classes[1]``, which is called positive.

    Attributes
    ----------
    grid : object
        With `edges`, the probabilities between cells, at which decisions can be asked for; a property too.
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
    >>> score = rng.uniform(0, 1, 20_000)
    >>> result = dplr.evaluate(score, None, rng.uniform(0, 1, 20_000) < score, eps=1.0)
    >>> bool(0.8 < result.auc.estimate < 0.87)
    True
    >>> sorted(result.confusion())[:3]
    ['accuracy', 'f1', 'false_negatives']
    """

    grid: ScoreGrid

    @property
    def edges(self) -> tuple[float, ...]:
        """Thresholds that decisions can be asked for, a tuple of floats."""
        return self.grid.edges

    def _form(self, of_cells: Any) -> Form:
        """A linear form in the sums from numbers of shape (cells, 2)."""
        form = np.zeros(len(self.sums.values))
        form[: self.sums.cells] = np.broadcast_to(of_cells, (self.sums.cells // 2, 2)).ravel()
        return form

    def _read(self, name: str, first: Any, second: Any = 1.0) -> Measure:
        return mean(name, self.sums, self._form(first), self._form(second)).read(self.sums, self.level)

    def _loss(self, name: str) -> Measure:
        losses = self.grid.losses
        place = losses.names.index(name)
        form = self._form(losses.middles[:, place].reshape(-1, 2))
        form[self.sums.cells + place] = 1.0
        within = losses.halves[:, place] ** 2 / 3
        high = float((losses.middles + losses.halves)[:, place].max())
        return mean(name, self.sums, form, self._form(1.0), high, within).read(self.sums, self.level)

    @property
    def accuracy(self) -> Measure:
        """Share of right decisions at the threshold 0.5, a `Measure`."""
        return self.confusion()["accuracy"]

    @property
    def prevalence(self) -> Measure:
        """Share of positive rows, a `Measure`."""
        return self._read("prevalence", [0.0, 1.0])

    @property
    def auc(self) -> Measure:
        """Area under the ROC curve, a `Measure`: the probability that a positive row has the higher score."""
        return ranking.auc(self.grid, self.sums).read(self.sums, self.level)

    @property
    def average_precision(self) -> Measure:
        """Mean precision over the positive rows, each at its own score, a `Measure`; its interval allows for ties."""
        return ranking.average_precision(self.grid, self.sums, self.level)

    @property
    def brier(self) -> Measure:
        """Mean square of score minus outcome, a `Measure`."""
        return self._loss("brier")

    @property
    def log_loss(self) -> Measure:
        """Mean log-loss of scores clipped to [0.001, 0.999], a `Measure`."""
        return self._loss("log_loss")

    def confusion(self, threshold: float = 0.5) -> dict[str, Measure]:
        """Read the shares of right and wrong decisions at a threshold, and ratios of them.

        Parameters
        ----------
        threshold : float, default=0.5
            One of `edges`; name others to `dplr.evaluate`.

        Returns
        -------
        dict of str to Measure
            Shares of all rows: true_positives, false_positives, true_negatives, false_negatives, accuracy; and recall,
            specificity, precision and f1.

        Raises
        ------
        ValueError
            The threshold is no edge.

        Privacy
        -------
        Costs nothing.
        """
        decided = (np.arange(len(self.edges) + 1) > self._place(threshold))[:, np.newaxis] * 1.0
        positive = np.array([[0.0, 1.0]])
        hit, alarm = decided * positive, decided * (1 - positive)
        rest, missed = (1 - decided) * (1 - positive), (1 - decided) * positive
        everything = np.ones_like(hit)
        ratios = {
            "accuracy": (hit + rest, everything), "true_positives": (hit, everything),
            "false_positives": (alarm, everything), "true_negatives": (rest, everything),
            "false_negatives": (missed, everything), "recall": (hit, hit + missed),
            "specificity": (rest, rest + alarm), "precision": (hit, hit + alarm),
            "f1": (2 * hit, 2 * hit + alarm + missed),
        }  # fmt: skip
        return {name: self._read(name, *pair) for name, pair in ratios.items()}

    def _place(self, threshold: float) -> int:
        """The number of an edge."""
        value = real_number("threshold", threshold)
        if value not in self.edges:
            near = ", ".join(f"{edge!r}" for edge in sorted(self.edges, key=lambda edge: abs(edge - value))[:2])
            remedy = f"The nearest are {near}. Name others before the release: thresholds=({value:g},)."
            raise ValueError(sentence("threshold", "must be an edge between released cells", threshold, remedy))
        return self.edges.index(value)

    def roc(self) -> tuple[tuple[float, Measure, Measure], ...]:
        """The ROC curve at every edge, with an interval for each rate alone.

        Returns
        -------
        tuple of (float, Measure, Measure)
            Threshold, false positive rate and true positive rate, from the highest threshold on.

        Privacy
        -------
        Costs nothing.
        """
        points = []
        for place in reversed(range(len(self.edges))):
            decided = (np.arange(len(self.edges) + 1) > place)[:, np.newaxis] * 1.0
            alarms = self._read("false_positive_rate", decided * [[1.0, 0.0]], [[1.0, 0.0]])
            hits = self._read("true_positive_rate", decided * [[0.0, 1.0]], [[0.0, 1.0]])
            points.append((self.edges[place], alarms, hits))
        return tuple(points)

    def calibration(self, bins: int = 10) -> tuple[tuple[float, float, Measure], ...]:
        """Share of positive rows among those with scores in a bin; of a calibrated model it lies within the bin.

        Parameters
        ----------
        bins : int, default=10
            At most how many; neighbouring cells are joined so that bins hold as many rows as each other, by the
            released counts.

        Returns
        -------
        tuple of (float, float, Measure)
            Lowest and highest score, and share of positives.

        Raises
        ------
        ValueError, TypeError
            `bins` is not a count.

        Privacy
        -------
        Costs nothing.
        """
        count = check_count("bins", bins)
        rows = self.sums.positive.reshape(-1, 2).sum(axis=1)
        share = np.cumsum(rows) / rows.sum()
        bin_of = np.minimum((np.concatenate([[0.0], share[:-1]]) * count).astype(int), count - 1)
        points = []
        for place in np.unique(bin_of):
            inside = (bin_of == place)[:, np.newaxis] * 1.0
            ends = self.grid.ends[bin_of == place]
            measure = self._read("positives", inside * [[0.0, 1.0]], inside * [[1.0, 1.0]])
            points.append((float(ends[0, 0]), float(ends[-1, 1]), measure))
        return tuple(points)

    def threshold(self, *, cost_false_positive: float, cost_false_negative: float) -> CostThreshold:
        """The threshold at which decisions cost least.

        Parameters
        ----------
        cost_false_positive, cost_false_negative : float
            What a wrong decision costs, above 0, in any unit.

        Returns
        -------
        CostThreshold
            The edge with the least estimated cost, and a set that holds the best edge.

        Raises
        ------
        ValueError, TypeError
            A cost is not positive.

        Privacy
        -------
        Costs nothing.
        """
        costs = [check_positive("cost_false_positive", cost_false_positive),
                 check_positive("cost_false_negative", cost_false_negative)]  # fmt: skip
        alarm, miss = (cost / max(costs) for cost in costs)
        decided = np.arange(len(self.edges) + 1) > np.arange(len(self.edges))[:, np.newaxis]
        forms = np.zeros((len(self.edges), len(self.sums.values)))
        forms[:, : self.sums.cells : 2], forms[:, 1 : self.sums.cells : 2] = alarm * decided, miss * ~decided
        values = forms @ self.sums.values
        best = int(values.argmin())
        z = -float(special.ndtri((1 - self.level) / (2 * len(self.edges))))
        is_kept = [
            value - values[best] <= z * self._deviation(form - forms[best])
            for value, form in zip(values, forms, strict=True)
        ]
        kept = np.flatnonzero(is_kept)
        cost = mean("cost", self.sums, forms[best], self._form(1.0)).read(self.sums, self.level)
        return CostThreshold(self.edges[best], self.edges[kept[0]], self.edges[kept[-1]], cost)

    def _deviation(self, form: Form) -> float:
        """Standard error of a linear form, from sampling and noise."""
        sampling = float(form[: self.sums.cells] ** 2 @ self.sums.positive)
        return math.sqrt(max(sampling + self.sums.noise(form, form), 0.0))

    @property
    def measures(self) -> dict[str, Measure]:
        of_scores = [self.auc, self.average_precision, self.brier, self.log_loss, self.prevalence]
        decisions = self.confusion()
        kept = ("accuracy", "recall", "specificity", "precision", "f1")
        return {**{one.name: one for one in of_scores}, **{name: decisions[name] for name in kept}}
