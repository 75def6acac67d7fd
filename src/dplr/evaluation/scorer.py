"""Answers of public models for rows: probabilities, decisions or numbers, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import real_number, sentence
from dplr.evaluation.grids import ClassGrid, ErrorGrid, ScoreGrid
from dplr.evaluation.law import Grid
from dplr.rows import LabelRule, Labels, Target, as_target, check_unmasked
from dplr.rows.tables.table import as_float

Matrix = NDArray[np.float64]
# Probabilities may be this far outside [0, 1] by rounding; what is farther is no probability.
_ROUNDING = 1e-6


class Answer(Enum):
    """The kind of answer that a model has for a row."""

    PROBABILITIES = "probabilities"
    DECISIONS = "decisions"
    NUMBERS = "numbers"


class Scoring(Protocol):
    """The questions to one model, or to two."""

    @property
    def array(self) -> Any:
        """Answers of all rows, with one entry for each; None for a model."""
        ...

    @property
    def needs_rows(self) -> bool:
        """Whether a model is asked about rows."""
        ...

    def labels(self, y: Target) -> Labels | None:
        """The labels of some rows, with their classes; None for numbers."""
        ...

    def grid(self, classes: int, records: float, eps: float, thresholds: Sequence[float]) -> Grid:
        """The cells, from public facts."""
        ...

    def scores(self, rows: Any, at: slice, count: int, labels: Labels | None) -> Matrix:
        """Numbers that decide cells."""
        ...


@dataclass(frozen=True, eq=False)
class Scorer:
    """A public model, and how outcomes of rows are read.

    Attributes
    ----------
    answer : what the model gives.
    call : a batch of rows -> its answers; None where they are an array beside the rows.
    array : answers of all rows; None for a model.
    rule : for labels; None for numbers.
    classes : labels of the columns of probabilities; None where neither the model nor a declaration names them.
    bounds : of a numeric target; None for labels.
    """

    answer: Answer
    call: Callable[[Any], Any] | None
    array: Any
    rule: LabelRule | None
    classes: tuple[Any, ...] | None
    bounds: tuple[float, float] | None

    @property
    def needs_rows(self) -> bool:
        """Whether a model is asked about rows."""
        return self.call is not None

    def labels(self, y: Target) -> Labels | None:
        """The labels of some rows, with their classes."""
        if self.rule is None:
            return None
        labels = self.rule.of(y)
        if self.classes is not None and set(labels.classes.tolist()) != set(self.classes):
            rule = f"must be those of the model, {list(self.classes)}"
            raise ValueError(sentence("classes", rule, labels.classes.tolist()))
        return labels

    def grid(self, classes: int, records: float, eps: float, thresholds: Sequence[float]) -> Grid:
        """The cells, from public facts."""
        if self.bounds is not None:
            return ErrorGrid.of(*self.bounds)
        if self.answer is Answer.PROBABILITIES and classes == 2:
            return ScoreGrid.of(records, eps, thresholds)
        if thresholds:
            raise ValueError(sentence("thresholds", "must be empty without probabilities of two labels", thresholds))
        return ClassGrid.of(classes, self.answer is Answer.PROBABILITIES, records, eps)

    def scores(self, rows: Any, at: slice, count: int, labels: Labels | None) -> Matrix:
        """Numbers that decide cells: probabilities, codes of decisions, or numbers."""
        answers = self.array[at] if self.call is None else self.call(rows)
        if self.answer is Answer.DECISIONS:
            assert self.rule is not None
            assert labels is not None
            own = self.rule.of(as_target(answers))
            codes = _checked(codes_of(own), (count,))
            if own.classes.tolist() == labels.classes.tolist():
                return codes
            places = [labels.classes.tolist().index(label) for label in own.classes.tolist()]
            return np.array([*places, len(places)], np.float64)[codes.astype(np.intp)]
        if labels is None:
            numbers = as_target(np.ravel(answers) if isinstance(answers, np.ndarray) else answers).as_float()
            return finite(_checked(numbers, (count,)))
        names, values = labels.classes.tolist(), _probabilities(_floats(answers))
        if values.ndim == 2 and self.classes is not None and values.shape[1] == len(names):
            values = values[:, [self.classes.index(name) for name in names]]
        if len(names) == 2:
            return _checked(values[:, 1] if values.ndim == 2 and values.shape[1:] == (2,) else values, (count,))
        return _checked(values, (count, len(names)))


def finite(values: Matrix) -> Matrix:
    """The numbers, NaN for infinite ones."""
    return np.where(np.isfinite(values), values, np.nan)


def _probabilities(values: Matrix) -> Matrix:
    """The probabilities, NaN for what is none: log odds would all count as 0 or 1."""
    return np.where((values >= -_ROUNDING) & (values <= 1 + _ROUNDING), values, np.nan)


def _floats(answers: Any) -> Matrix:
    """Answers as float64, each by itself; NaN for what is missing or not a number."""
    values = _values(answers)
    if values.dtype.kind in "biuf":
        return np.asarray(values, np.float64)
    return np.fromiter((as_float(value) for value in values.ravel()), np.float64, values.size).reshape(values.shape)


def _values(answers: Any) -> NDArray[Any]:
    """Answers as an array, whose type is declared: of a sequence, NumPy would choose it from all answers together."""
    check_unmasked("model", answers)
    return np.array(answers, object) if isinstance(answers, Sequence) else np.asarray(answers)


def _checked(values: Matrix, shape: tuple[int, ...]) -> Matrix:
    """Answers of the shape that they must have."""
    if values.shape != shape:
        raise ValueError(sentence("model", f"must give answers of shape {shape} for {shape[0]} rows", values.shape))
    return values


def codes_of(labels: Labels) -> Matrix:
    """(n,) positions of the labels; the number of classes for what is no label."""
    if labels.positional:
        return np.asarray(labels.y, np.float64)
    negative, positive = labels.codes
    return np.where(labels.y == negative, 0.0, np.where(labels.y == positive, 1.0, 2.0))


def scorer_of(model: Any, classes: Sequence[Any] | None, target_bounds: Any, decisions: bool) -> Scorer:
    """How a model is asked, from its methods and attributes and what was declared. No row is read.

    Raises TypeError or ValueError where it cannot be asked, or declarations contradict it.
    """
    is_model = hasattr(model, "predict")
    names = getattr(model, "classes_", None) if is_model else None
    record = getattr(model, "_record", None)
    if target_bounds is None and names is None and record is not None:
        target_bounds = record.prep.target or (-1.0, 1.0)
    if (is_model and names is None) or (target_bounds is not None and not is_model):
        call = model.predict if is_model else model if callable(model) else None
        return Scorer(Answer.NUMBERS, call, None if call else _array(model), None, None, _bounds(target_bounds))
    if target_bounds is not None:
        raise ValueError(sentence("target_bounds", "must be None for a classifier", target_bounds))
    threshold = None if record is None or record.bounds is None else record.bounds.threshold
    labels = None if names is None else tuple(np.asarray(names).tolist())
    own = labels[::-1] if labels is not None and len(labels) == 2 and _outcome_of(model) == labels[0] else labels
    rule = LabelRule(own if classes is None else classes) if threshold is None else LabelRule(threshold=threshold)
    if not is_model:
        call = model if callable(model) else None
        answer = Answer.DECISIONS if decisions else Answer.PROBABILITIES
        columns = None if classes is None else tuple(np.asarray(classes).tolist())
        return Scorer(answer, call, None if call else _array(model), rule, columns, None)
    if decisions or not hasattr(model, "predict_proba"):
        return Scorer(Answer.DECISIONS, model.predict, None, rule, labels, None)
    return Scorer(Answer.PROBABILITIES, model.predict_proba, None, rule, labels, None)


def _outcome_of(model: Any) -> Any:
    """The label that a model of dplr is about, also as the last step of a pipeline or chosen by a search."""
    model = getattr(model, "best_estimator_", model)
    return getattr(model.steps[-1][1] if hasattr(model, "steps") else model, "outcome_", None)


def _array(model: Any) -> Any:
    """Answers of all rows as an array."""
    values = _values(model)
    if values.ndim not in (1, 2) or not len(values):
        rule = "must be a model with `predict`, a function of a batch of rows, or an array of its answers"
        raise TypeError(sentence("model", rule, type(model).__name__))
    return values


def _bounds(target_bounds: Any) -> tuple[float, float]:
    if target_bounds is None:
        remedy = "Declare target_bounds=(low, high) from public knowledge, as for a fit."
        raise ValueError(sentence("target_bounds", "is required for a model of numbers", None, remedy))
    try:
        low, high = target_bounds
    except (TypeError, ValueError):
        raise TypeError(sentence("target_bounds", "must be a pair (low, high)", target_bounds)) from None
    low, high = real_number("target_bounds", low), real_number("target_bounds", high)
    if not (low < high and np.isfinite(high - low)):
        raise ValueError(sentence("target_bounds", "must be finite, as their difference is, and rise", target_bounds))
    return low, high
