"""Public factors of the labels, as factors of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_positive, sentence
from dplr.rows.labels import Labels


def class_factors(labels: Labels, class_weight: Any) -> tuple[NDArray[np.float64], tuple[tuple[str, float], ...]]:
    """The factor of each row, and the factors of the labels with labels as text, for the statement.

    Parameters
    ----------
    labels : the classes and each row's label.
    class_weight : a positive finite number for each class; they are public.

    Returns
    -------
    factors : (n,) the factor of the row's label over the largest one, from 0 to 1; 0 for what is not a label.
    pairs : (label, factor) as given, in the order of the classes.
    """
    pairs = _checked(class_weight, labels.classes.tolist())
    sizes = np.array([*(factor for _, factor in pairs), 0.0])
    return (sizes / sizes.max())[_positions(labels)], pairs


def _positions(labels: Labels) -> NDArray[np.int64]:
    """Each row's place in the classes; their number for what is not a label."""
    if len(labels.classes) > 2:
        return np.asarray(labels.y, np.int64)
    negative, positive = labels.codes
    values = np.asarray(labels.y, np.float64)
    return np.where(values == negative, 0, np.where(values == positive, 1, 2))


def _checked(class_weight: Any, classes: list[Any]) -> tuple[tuple[str, float], ...]:
    if not isinstance(class_weight, Mapping):
        rule = "must map every class to a public factor"
        remedy = (
            f"Factors that come from the data, as 'balanced' does, tell of it. Give public ones, for each of {classes}."
        )
        raise ValueError(sentence("class_weight", rule, class_weight, remedy))
    extras = [key for key in class_weight if key not in classes]
    if extras:
        raise ValueError(sentence("class_weight", f"must name classes alone, which are {classes}", extras))
    lacking = [label for label in classes if label not in class_weight]
    if lacking:
        raise ValueError(sentence("class_weight", "must name every class; missing", lacking, "Give it a factor too."))
    return tuple((str(label), check_positive(f"class_weight[{label!r}]", class_weight[label])) for label in classes)
