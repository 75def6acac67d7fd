"""The labels of a target: declared, conventional, or on request and with a warning taken from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import is_listed, sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.bounds.columns import Pair
from dplr.rows.tables.table import BOOL, OTHER, TEXT, Target
from dplr.rows.tables.values import NUMBERS

FROM_DATA = "from_data"

_NEITHER = 2.0  # the code of a value without a label: the sum counts such rows, and they are refused
_DECLARE = "Declare the labels, such as classes=(-1, 1) or target=('no', 'yes') of the bounds."


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """The labels of a target.

    Attributes
    ----------
    classes : (k,) two in the order in which they were declared: a model is about the second; sorted otherwise.
    y : (n,) numbers that stand for the labels: the values themselves, or positions in `classes`, where `len(classes)`
        is a value that is not a label.
    codes : the numbers that stand for two classes.
    assumption : a sentence for the statement.
    conventional : whether nobody declared the labels.
    positional : whether `y` holds positions.
    """

    classes: NDArray[Any]
    y: NDArray[Any]
    codes: Pair
    assumption: str
    conventional: bool = False
    positional: bool = False

    @property
    def class_codes(self) -> Sequence[float]:
        """The number in `y` of each class."""
        return range(len(self.classes)) if self.positional else self.codes

    def take(self, rows: Any) -> Labels:
        """The labels of the records at an array of indices."""
        return replace(self, y=self.y[rows])

    def against_the_rest(self, position: int | None) -> NDArray[np.float64]:
        """1 for one class (None: for all), 0 for the others, 2 for a value that is not a label, which sums count."""
        return np.where(self.y == len(self.classes), 2.0, True if position is None else self.y == position)


@dataclass(frozen=True, slots=True)
class LabelRule:
    """The rule for labels in every part of the rows: the declared labels, or a threshold of numbers.

    Labels do not depend on the values of y. Undeclared ones are False and True where the type of y declares booleans,
    and 0 and 1 elsewhere: one convention for every type, so that no record decides which one holds. Other values are
    refused while rows are summed. Only `"from_data"` reads the labels from the data, with a PrivacyWarning.
    """

    declared: Sequence[Any] | str | None = None
    threshold: float | None = None

    def of(self, y: Target) -> Labels:
        """The labels of some rows."""
        declared = self.declared
        if self.threshold is not None:
            return _above(y, self.threshold)
        if isinstance(declared, str) and declared == FROM_DATA:
            return _from_data(y)
        if declared is not None:
            classes = declared_classes(declared)
            return _encoded(y, classes, f"the labels {classes.tolist()}, declared")
        if y.kind in (TEXT, OTHER):
            rule = "must hold booleans, or the numbers 0 and 1, where its labels are not declared"
            raise ValueError(sentence("y", rule, y.type_name, _DECLARE))
        convention = "y is True or False, by convention" if y.kind == BOOL else "every label is 0 or 1, by convention"
        classes = np.array([False, True] if y.kind == BOOL else [0, 1])
        return replace(_encoded(y, classes, convention), conventional=True)


def _above(y: Target, threshold: float) -> Labels:
    """The labels of a numeric target: True above a public threshold. What is missing or not a number is neither.

    Each value is compared as a float64. In the type of its array, which other values may have decided, it could lie on
    the other side.
    """
    if y.kind in (TEXT, OTHER):
        raise ValueError(sentence("y", "must hold numbers where the bounds have a threshold", y.type_name))
    values = y.as_float()
    encoded = np.where(np.isnan(values), _NEITHER, values > threshold)
    return Labels(np.array([False, True]), encoded, (0.0, 1.0), f"y is True above {threshold:g}, a declared threshold")


def _from_data(y: Target) -> Labels:
    values, objects = y.values, y.values.dtype.kind == "O"
    if objects:
        types = {"text" if isinstance(v, str) else "number" if isinstance(v, NUMBERS) else "" for v in values}
        if len(types) > 1 or "" in types:
            rule = "must hold labels of one type, none missing"
            raise ValueError(sentence("y", rule, {type(value).__name__ for value in values}, "Clean y."))
    classes = np.unique(np.asarray(values.tolist()) if objects else values)
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("`y` must be finite; got NaN or infinity among the labels. Remove or correct those rows.")
    if classes.dtype.kind == "f" and not np.equal(np.mod(classes, 1), 0).all():
        raise ValueError(
            "Unknown label type: continuous. `y` must hold two labels for logistic regression; for a numeric target "
            'use model="linear".'
        )
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported: `y` must hold two labels; got {len(classes)} classes. More "
            "than two must be public: declare them with `classes=` or in the bounds."
        )
    if len(classes) < 2:
        rule = "must hold two labels, and only one class is present"
        raise ValueError(sentence("y", rule, classes.tolist(), "Declare `classes=`."))
    notice = f"the labels {classes.tolist()} were taken from the private data"
    warn(f"{notice}; declare them with `classes=` or in the bounds.", PrivacyWarning)
    return _encoded(y, classes, f"the labels {classes.tolist()}, TAKEN FROM THE DATA")


def declared_classes(declared: Sequence[Any] | str) -> NDArray[Any]:
    """Two labels in their order, of which a model is about the second; more of them sorted, each with a model."""
    listed = is_listed(declared) or getattr(declared, "ndim", 0) == 1
    values = list(declared) if listed else []
    text = [isinstance(value, str) for value in values]
    if not (all(text) or all(isinstance(value, NUMBERS) for value in values)):
        raise ValueError(sentence("classes", "must be all text, or all numbers or booleans", declared))
    classes = np.unique(np.asarray(values))
    if not 2 <= len(values) == len(classes) or (classes.dtype.kind == "f" and not np.isfinite(classes).all()):
        raise ValueError(sentence("classes", "must be two different labels, or more", declared))
    return classes if len(classes) > 2 else np.asarray(values)


def _encoded(y: Target, classes: NDArray[Any], assumption: str) -> Labels:
    """Two numbers are compared in the kernels, without a copy of y; all other labels count by their position."""
    if classes.dtype.kind in "biuf":
        negative, positive, *rest = _codes(classes)
        if y.numeric and not rest:
            return Labels(classes, y.values, (negative, positive), assumption)
    return Labels(classes, _positions(y, classes), (0.0, 1.0), assumption, positional=True)


def _positions(y: Target, classes: NDArray[Any]) -> NDArray[Any]:
    """The position of each label, each looked up by itself; the number of classes for what is not a label."""
    unknown = len(classes)
    if classes.dtype.kind not in "biuf":
        lookup = {label: position for position, label in enumerate(classes.tolist())}
        keys = (value if isinstance(value, str) else None for value in y.values)
        return np.fromiter((lookup.get(key, unknown) for key in keys), np.int64, len(y))
    codes = np.array(_codes(classes))
    values = y.as_float()
    order = np.argsort(codes)
    nearest = order[np.minimum(np.searchsorted(codes, values, sorter=order), unknown - 1)]
    return np.where(codes[nearest] == values, nearest, unknown)


def _codes(classes: NDArray[Any]) -> list[float]:
    """Labels as float64, all different: values of y are compared as float64."""
    codes: list[float] = classes.astype(np.float64).tolist()
    if len(set(codes)) < len(codes):
        raise ValueError(sentence("classes", "must differ as float64", classes.tolist(), "Use smaller codes."))
    return codes
