"""Two models on the same rows: counts of both decisions by outcome, or sums of differences of errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.evaluation.errors import count_of
from dplr.evaluation.grids import CELLS, FIXED_BITS, UNIT, fixed_targets
from dplr.evaluation.law import Grid
from dplr.evaluation.measures import Measure, Ratio, Sums, mean
from dplr.evaluation.scorer import Answer, Scorer
from dplr.evaluation.value import Evaluation
from dplr.privacy.sensitivity import (
    differences_add_remove,
    differences_replace_one,
    outcomes_add_remove,
    outcomes_replace_one,
)
from dplr.rows import Labels, Target

_SUMS = ("difference", "square", "target_square", "target")
_WEIGHTS = {CELLS: 0.05, "difference": 1.0, "square": 0.2, "target_square": 0.5, "target": 0.1, "count": 0.1}


@dataclass(frozen=True)
class DecisionPair:
    """Cells of two decisions by outcome, a that of `model`, b of `against`: (of a, of b, outcome), or who is right.

    Attributes
    ----------
    classes : K.
    """

    classes: int

    @property
    def size(self) -> int:
        """Number of cells: 8 for two labels, and 4 for more."""
        return 8 if self.classes == 2 else 4

    def blocks(self, counted: bool) -> dict[str, tuple[int, float]]:
        """The counts alone."""
        return {CELLS: (self.size, 1.0)}

    def sensitivity(self, replaced: bool, counted: bool) -> float:
        """That of counts (evaluation.md, lemma 1)."""
        return outcomes_replace_one(0.0) if replaced else outcomes_add_remove(0.0)

    def place(self, scores: NDArray[np.float64], codes: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) cells from (n, 2) decisions and codes 0 to K - 1."""
        k = self.classes
        is_known = (codes >= 0) & (codes < k) & ((scores >= 0) & (scores < k)).all(axis=1)
        one, two, y = (np.where(is_known, v, 0).astype(np.int64) for v in (*scores.T, codes))
        cells = 4 * one + 2 * two + y if k == 2 else 2 * (one == y) + (two == y)
        return np.where(is_known, cells, -1), np.zeros((len(cells), 0), np.int64)

    @property
    def facts(self) -> list[str]:
        """Sentences for the statement."""
        return ["both models' decisions are counted by outcome, those of probabilities for the most probable label"]


@dataclass(frozen=True)
class ErrorPair:
    """Sums of e_b^2 - e_a^2 and of its square, and of the target, within declared bounds; cells: who is closer.

    Attributes
    ----------
    low, high : the bounds of the target.
    """

    low: float
    high: float

    @property
    def size(self) -> int:
        """Number of cells: a is closer, neither, b is closer."""
        return 3

    @property
    def width(self) -> float:
        """Length of the range of the target."""
        return self.high - self.low

    def blocks(self, counted: bool) -> dict[str, tuple[int, float]]:
        """Name -> how many numbers, and their weight; `counted`: whether the weight of all rows is private."""
        names = (*_SUMS, "count") if counted else _SUMS
        return {CELLS: (self.size, _WEIGHTS[CELLS]), **{name: (1, _WEIGHTS[name]) for name in names}}

    def sensitivity(self, replaced: bool, counted: bool) -> float:
        """The L1 norm, with the weights of the blocks, of the largest change (evaluation.md, lemma 2)."""
        weights = {name: weight for name, (_, weight) in self.blocks(counted).items()}
        return (differences_replace_one if replaced else differences_add_remove)(weights, UNIT)

    def place(self, scores: NDArray[np.float64], targets: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(n,) cells and (n, 4) numbers in the order of the sums, from (n, 2) predictions."""
        is_known = ~(np.isnan(scores).any(axis=1) | np.isnan(targets))
        y, one, two = (fixed_targets(v, self.low, self.high) for v in (targets, *scores.T))
        squares = [((y - guess) * (y - guess)) >> FIXED_BITS for guess in (one, two)]
        difference, centred = squares[1] - squares[0], y - (1 << FIXED_BITS) // 2
        numbers = np.stack([
            difference, (difference * difference) >> FIXED_BITS, (centred * centred) >> FIXED_BITS, centred,
        ], axis=1)  # fmt: skip
        numbers[~is_known] = 0
        return np.where(is_known, 1 - np.sign(difference), -1), numbers

    @property
    def facts(self) -> list[str]:
        """Sentences for the statement."""
        return [f"target and predictions are clipped to [{self.low:g}, {self.high:g}], declared"]


@dataclass(frozen=True, eq=False)
class PairScorer:
    """The answers of two models for the same rows."""

    a: Scorer
    b: Scorer

    def __post_init__(self) -> None:
        if self.a.bounds != self.b.bounds:
            rule, ranges = "must be the same for both models", [self.a.bounds, self.b.bounds]
            raise ValueError(sentence("target_bounds", rule, ranges, "Declare them here."))
        lengths = {len(scorer.array) for scorer in (self.a, self.b) if scorer.array is not None}
        if len(lengths) > 1:
            raise ValueError(sentence("against", "must have as many answers as model", sorted(lengths)))

    @property
    def array(self) -> Any:
        """Answers of a where they are an array; both must then be of one length."""
        return self.a.array if self.a.array is not None else self.b.array

    @property
    def needs_rows(self) -> bool:
        """Whether a model is asked about rows."""
        return self.a.needs_rows or self.b.needs_rows

    def labels(self, y: Target) -> Labels | None:
        """The labels of some rows, which both models name alike."""
        labels, of_b = self.a.labels(y), self.b.labels(y)
        if labels is not None and of_b is not None and set(labels.classes.tolist()) != set(of_b.classes.tolist()):
            rule = f"must decide among the labels of model, {labels.classes.tolist()}"
            raise ValueError(sentence("against", rule, of_b.classes.tolist(), "Evaluate each in a release of its own."))
        return labels

    def grid(self, classes: int, records: float, eps: float, thresholds: Sequence[float]) -> Grid:
        """The cells, from public facts."""
        if self.a.bounds is None:
            return DecisionPair(classes)
        return ErrorPair(*self.a.bounds)

    def scores(self, rows: Any, at: slice, count: int, labels: Labels | None) -> NDArray[np.float64]:
        """(n, 2) decisions or predictions."""
        return np.stack([_decisions(of, rows, at, count, labels) for of in (self.a, self.b)], axis=1)


def _decisions(scorer: Scorer, rows: Any, at: slice, count: int, labels: Labels | None) -> NDArray[np.float64]:
    scores = scorer.scores(rows, at, count, labels)
    if scorer.answer is not Answer.PROBABILITIES:
        return scores
    if scores.ndim == 1:
        return np.where(np.isnan(scores), np.nan, scores >= 0.5)
    lost = np.isnan(scores).any(axis=1)
    return np.where(lost, np.nan, np.nan_to_num(scores).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class PairEvaluation(Evaluation):
    """How much better the model of `against` is than `model`, on the same private rows.

    Attributes
    ----------
    grid : object
        The public cells.
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
    dplr.evaluate : Makes one, with `against`.

    Examples
    --------
    >>> import dplr, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 20_000)
    >>> good, bad = (np.where(rng.uniform(size=20_000) < share, y, 1 - y) for share in (0.8, 0.7))
    >>> result = dplr.evaluate(bad * 1.0, None, y, against=good * 1.0, eps=1.0)
    >>> result.against_is_better("accuracy")
    True
    """

    def against_is_better(self, name: str) -> bool | None:
        """Whether the model of `against` is the better one by a measure: True, False, or None if the interval holds 0.

        Parameters
        ----------
        name : str
            A name of `measures`; all are larger for a better model.

        Returns
        -------
        bool or None
            The verdict: True where `against` is better, False where `model` is. It is wrong where the interval does not
            hold the difference, with a probability of at most 1 - level.

        Raises
        ------
        ValueError
            There is no such measure.

        Privacy
        -------
        Costs nothing.
        """
        measures = self.measures
        if not isinstance(name, str) or name not in measures:
            raise ValueError(sentence("name", f"must be one of {list(measures)}", name))
        one = measures[name]
        return True if one.lower > 0 else False if one.upper < 0 else None

    def _title(self, where: str) -> str:
        return f"The model of `against` minus `model`. {super()._title(where)}"

    @property
    def measures(self) -> dict[str, Measure]:
        if isinstance(self.grid, ErrorPair):
            measures = [_gain(self.sums).read(self.sums, self.level), self._share("closer", [-1.0, 0.0, 1.0])]
        elif self.grid.classes > 2:
            measures = [self._share("accuracy", [0.0, 1.0, -1.0, 0.0])]
        else:
            one, two, y = np.indices((2, 2, 2))
            gain = (two == y) * 1.0 - (one == y)
            measures = [
                self._share("accuracy", gain), self._share("recall", gain * y, y),
                self._share("specificity", gain * (1 - y), 1 - y),
            ]  # fmt: skip
        return {one.name: one for one in measures}

    def _share(self, name: str, first: Any, second: Any = 1.0) -> Measure:
        one, two = np.zeros(len(self.sums.values)), np.zeros(len(self.sums.values))
        one[: self.sums.cells] = np.ravel(first)
        two[: self.sums.cells] = np.ravel(second)
        return mean(name, self.sums, one, two, low=-1.0).read(self.sums, self.level)


def _gain(sums: Sums) -> Ratio:
    """R^2 of b minus that of a: the sum of e_a^2 - e_b^2 over that of squares about the mean."""
    count, of_count = count_of(sums, len(_SUMS))
    difference, square, bent, middle = (float(sums.values[sums.cells + place]) for place in range(4))
    middle /= max(count, 1.0)
    about = max(bent - count * middle**2, 0.0)
    first, second = np.zeros(len(sums.values)), of_count * middle**2
    first[sums.cells] = -1.0
    second[sums.cells + 2], second[sums.cells + 3] = 1.0, -2 * middle
    most = (0.5 + min(abs(middle), 0.5)) ** 2 * about
    squares = max(square, difference**2 / max(count, 1.0))
    # (d - theta z^2)^2 <= 2 d^2 + 2 theta^2 z^4 for d of either sign.
    return Ratio("r2", -difference, about, first, second, (2 * squares, 0.0, 2 * most), -math.inf, math.inf)
