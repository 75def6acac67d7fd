"""Errors of predicted numbers from noisy sums: R^2, root mean square, mean absolute and mean error, and their cells."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dplr.evaluation.grids import ERRORS, ErrorGrid
from dplr.evaluation.measures import Measure, Ratio, Sums, mean

# The kurtosis of a normal law: the least that errors are taken to have where noise hides their fourth moment.
_KURTOSIS = 3.0


def _form(sums: Sums, **entries: float) -> NDArray[np.float64]:
    """A linear form in the sums, by name."""
    form = np.zeros(len(sums.values))
    for name, value in entries.items():
        form[sums.cells + ERRORS.index(name)] = value
    return form


def _value(sums: Sums, name: str) -> float:
    return float(_form(sums, **{name: 1.0}) @ sums.values)


def count_of(sums: Sums, sums_before: int = len(ERRORS)) -> tuple[float, NDArray[np.float64]]:
    """The weight of all rows, public or as released, and its form."""
    if sums.total is not None:
        return sums.total, _form(sums)
    form = _form(sums)
    form[sums.cells + sums_before] = 1.0
    return float(form @ sums.values), form


def _fourth(sums: Sums, count: float) -> float:
    """The sum of fourth powers of errors, of at least a normal law's."""
    square = max(_value(sums, "square"), 0.0)
    return max(_value(sums, "fourth"), _KURTOSIS * square**2 / max(count, 1.0))


def r2(sums: Sums) -> Ratio:
    """The share of the target's variance about its mean that remains: 1 - R^2.

    With d = e^2 - theta z^2, both squares positive: d^2 <= e^4 + theta^2 z^4, and z^4 <= (1/2 + |mean|)^2 z^2.
    """
    count, of_count = count_of(sums)
    count = max(count, 1.0)
    middle = _value(sums, "target") / count
    second = _form(sums, target_square=1.0, target=-2 * middle) + of_count * middle**2
    about = max(_value(sums, "target_square") - count * middle**2, 0.0)
    most = (0.5 + min(abs(middle), 0.5)) ** 2
    sampling = (_fourth(sums, count), 0.0, most * about)
    return Ratio("1 - r2", _value(sums, "square"), about, _form(sums, square=1.0), second, sampling, 0.0, math.inf)


def mean_square(sums: Sums) -> Ratio:
    """The mean square of errors, in squares of the range."""
    return _of_rows(sums, "square", _fourth(sums, count_of(sums)[0]), (0.0, 1.0))


def mean_absolute(sums: Sums) -> Ratio:
    """The mean absolute error, in units of the range."""
    return _of_rows(sums, "absolute", max(_value(sums, "square"), 0.0), (0.0, 1.0))


def mean_error(sums: Sums) -> Ratio:
    """The mean of target minus prediction, in units of the range."""
    return _of_rows(sums, "error", max(_value(sums, "square"), 0.0), (-1.0, 1.0))


def _of_rows(sums: Sums, name: str, squares: float, valid: tuple[float, float]) -> Ratio:
    """The mean of a number over the rows: with theta, (x - theta w)^2 adds up to squares - 2 theta x + theta^2 w."""
    count, of_count = count_of(sums)
    value = _value(sums, name)
    sampling = (squares, value, max(count, 0.0))
    return Ratio(name, value, count, _form(sums, **{name: 1.0}), of_count, sampling, *valid)


def within(grid: ErrorGrid, sums: Sums, edge: float, level: float) -> Measure:
    """The share of rows whose error is at most an edge, in units of the range, in size."""
    marks = np.array([-1.0, *grid.edges, 1.0])
    inside = np.zeros(len(sums.values))
    inside[: sums.cells] = (marks[:-1] >= -edge) & (marks[1:] <= edge)
    every = np.zeros(len(sums.values))
    every[: sums.cells] = 1.0
    return mean("within", sums, inside, every).read(sums, level)
