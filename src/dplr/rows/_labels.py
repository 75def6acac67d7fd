"""Which labels a target holds: declared, conventional, or (with a warning) taken from the data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._validation import sentence
from dplr.bounds import Pair
from dplr.privacy import PrivacyWarning

# Smallest and largest label -> the set. All ones fit two sets, and one record would decide between them: refused.
_CONVENTIONS = {(0, 0): (0, 1), (0, 1): (0, 1), (-1, -1): (-1, 1), (-1, 1): (-1, 1)}


_NEITHER = 2.0  # a code that is found, and refused, with the sum


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """The classes, y in numbers, the numbers that stand for two classes, and a sentence for the statement.

    Of more than two classes y holds the positions in `classes`, and their number for what is no label.
    """

    classes: NDArray[Any]
    y: NDArray[Any]
    codes: Pair
    assumption: str

    def against_the_rest(self, position: int | None) -> NDArray[np.float64]:
        """1 for one class (None: for all), 0 for the others, and 2 for what is no label: it is found with the sum."""
        return np.where(self.y == len(self.classes), 2.0, True if position is None else self.y == position)


def resolve(y: NDArray[Any], declared: Sequence[Any] | None) -> Labels:
    """Find the labels without sorting y where they are declared or conventional.

    Conventional are bool, {0, 1} and {-1, 1}: public without a declaration. Labels of any other undeclared set are read
    from the data, with a PrivacyWarning; whatever is neither label is refused while rows are summed. An undeclared y is
    looked at before the budget is reserved, because the statement must name the labels.
    """
    y = _of_one_type(y)
    if declared is not None:
        classes = _declared_classes(declared)
        said = f"the labels {classes.tolist()}, declared"
        return _encoded(y, classes, said) if len(classes) == 2 else _positions(y, classes, said)
    if y.dtype.kind == "b":
        return Labels(np.array([False, True]), y, (0.0, 1.0), "y is True or False, by convention")
    if y.dtype.kind in "iuf" and len(y):
        ends = (y.min(), y.max())
        if ends in _CONVENTIONS:
            pair = _CONVENTIONS[ends]
            codes = (float(pair[0]), float(pair[1]))
            return Labels(
                np.array(pair, dtype=y.dtype), y, codes, f"every label is {pair[0]} or {pair[1]}, by convention"
            )
        if not np.isfinite(ends).all():
            raise ValueError("`y` must be finite; got NaN or infinity among the labels. Remove or correct those rows.")
    return _from_data(y)


def above(y: NDArray[Any], threshold: float) -> Labels:
    """The labels of a numeric target: True above a public threshold. A missing number is neither, and is refused."""
    numbers = _of_one_type(y)
    if numbers.dtype.kind not in "iuf":
        raise ValueError(sentence("y", "must hold numbers where the bounds have a threshold", y.dtype.type.__name__))
    encoded = np.where(np.isnan(numbers), _NEITHER, numbers > threshold)
    return Labels(np.array([False, True]), encoded, (0.0, 1.0), f"y is True above {threshold:g}, a declared threshold")


def _from_data(y: NDArray[Any]) -> Labels:
    try:
        found = np.unique(y)
    except TypeError:
        rule = "must hold labels of one type, none missing"
        raise ValueError(sentence("y", rule, {type(value).__name__ for value in y.tolist()}, "Clean y.")) from None
    if y.dtype.kind == "f" and not np.equal(np.mod(found, 1), 0).all():
        raise ValueError(
            "Unknown label type: continuous. `y` must hold two labels for logistic regression; for a numeric target "
            'use model="linear".'
        )
    if len(found) > 2:
        raise ValueError(
            f"Only binary classification is supported: `y` must hold two labels; got {len(found)} classes. More "
            "than two must be public: declare them with `classes=` or in the bounds."
        )
    if len(found) < 2:
        raise ValueError(
            sentence("y", "must hold two labels, and only one class is present", found.tolist(), "Declare `classes=`.")
        )
    warnings.warn(
        f"the labels {found.tolist()} were taken from the private data; declare them with `classes=` or in the bounds.",
        PrivacyWarning,
        stacklevel=2,
    )
    return _encoded(y, found, f"the labels {found.tolist()}, TAKEN FROM THE DATA")


def _of_one_type(y: NDArray[Any]) -> NDArray[Any]:
    """Object arrays that hold booleans or numbers become arrays of those; text and the rest stay as they are."""
    if y.dtype.kind != "O":
        return y
    types = {type(value) for value in y.tolist()}
    if types <= {bool, np.bool_}:
        return y.astype(bool)
    return y.astype(np.float64) if types <= {int, float, np.int64, np.float64} else y


def _declared_classes(declared: Sequence[Any]) -> NDArray[Any]:
    """The labels sorted, as scikit-learn's scorers expect them."""
    values = list(declared) if np.ndim(declared) == 1 else []
    classes = np.unique(np.asarray(values))
    if not 2 <= len(values) == len(classes) or (classes.dtype.kind == "f" and not np.isfinite(classes).all()):
        raise ValueError(sentence("classes", "must be two different labels, or more", declared))
    return classes


def _positions(y: NDArray[Any], classes: NDArray[Any], assumption: str) -> Labels:
    """More than two classes by their position."""
    if classes.dtype.kind in "biuf":
        _codes(classes)
    if y.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        nearest = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        positions = np.where(classes[nearest] == y, nearest, len(classes))
    else:
        lookup = {label: position for position, label in enumerate(classes.tolist())}
        positions = np.array([lookup.get(value, len(classes)) for value in y.tolist()])
    return Labels(classes, positions, (0.0, 1.0), assumption)


def _encoded(y: NDArray[Any], classes: NDArray[Any], assumption: str) -> Labels:
    if y.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        negative, positive = _codes(classes)
        return Labels(classes, y, (negative, positive), assumption)
    lookup = {label: float(code) for code, label in enumerate(classes.tolist())}
    encoded = np.array([lookup.get(value, _NEITHER) for value in y.tolist()])
    return Labels(classes, encoded, (0.0, 1.0), assumption)


def _codes(classes: NDArray[Any]) -> list[float]:
    """Labels as float64, all different: one label that is a float makes all of a column floats."""
    codes: list[float] = classes.astype(np.float64).tolist()
    if len(set(codes)) < len(codes):
        raise ValueError(sentence("classes", "must differ as float64", classes.tolist(), "Use smaller codes."))
    return codes
