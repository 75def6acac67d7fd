"""Regression of weighted cells without privacy: post-processing, quick for tens of millions of cells.

A row is v = left[i] + right[j]: the first axes of the table give the one, the last axes the other. So sums of s v v'
over cells are sums over few left and right rows, and one product of a sparse matrix with a narrow one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_RIDGE = 1.0  # of the logistic sum objective: that of mechanism="none"
_RANK = 1e-12  # of the largest eigenvalue of the moments: smaller ones count as 0
_CLOSE = 1e-6  # of the sum objective, which noise moves by far more than 1
_MOST_STEPS = 200
_CHUNK = 2**20  # cells at once


class Span(NamedTuple):
    """Cells of some left rows: those rows, the ends of their cells, the right row of every cell, and its weight."""

    left: Matrix
    ends: NDArray[np.int64]
    columns: NDArray[np.intp]
    weights: Vector


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Weighted rows left[i] + right[j], sorted by i.

    Attributes
    ----------
    left : (a, q)
    ends : (a + 1,) where the cells of each left row begin, and the last ones end.
    right : (b, q)
    columns : (n,) the right row of each cell.
    targets : (b,) of each right row.
    weights : (n,)
    """

    left: Matrix
    ends: NDArray[np.int64]
    right: Matrix
    columns: NDArray[np.intp]
    targets: Vector
    weights: Vector

    def spans(self) -> Iterator[Span]:
        """The cells in chunks of whole left rows."""
        first = 0
        while first < len(self.left):
            last = int(np.searchsorted(self.ends, self.ends[first] + _CHUNK, side="right")) - 1
            last = min(max(last, first + 1), len(self.left))
            start, stop = self.ends[first], self.ends[last]
            ends = self.ends[first : last + 1] - start
            yield Span(self.left[first:last], ends, self.columns[start:stop], self.weights[start:stop])
            first = last

    def products(self, span: Span, values: Vector) -> Matrix:
        """Sum of value v v' over the cells of a span."""
        matrix = sparse.csr_array((values, span.columns, span.ends), shape=(len(span.left), len(self.right)))
        used = np.flatnonzero(self.right.any(axis=0))
        cross = np.zeros((self.left.shape[1],) * 2)
        cross[:, used] = span.left.T @ np.asarray(matrix @ self.right[:, used])
        square = (span.left.T * matrix.sum(axis=1)) @ span.left
        return square + (self.right.T * matrix.sum(axis=0)) @ self.right + cross + cross.T

    def sums(self, span: Span, values: Vector) -> Vector:
        """Sum of value v over the cells of a span."""
        matrix = sparse.csr_array((values, span.columns, span.ends), shape=(len(span.left), len(self.right)))
        return np.asarray(span.left.T @ matrix.sum(axis=1) + self.right.T @ matrix.sum(axis=0))


def least_squares(cells: Cells) -> Vector:
    """Minimise sum weight (y - v.w)^2; of several minima the one of least norm."""
    q = cells.left.shape[1]
    square, right = np.zeros((q, q)), np.zeros(q)
    for span in cells.spans():
        square += cells.products(span, span.weights)
        right += cells.sums(span, span.weights * cells.targets[span.columns])
    return np.asarray(linalg.pinvh(square, rtol=_RANK) @ right, np.float64)


def logistic(cells: Cells, start: Vector | None = None) -> Vector:
    """Minimise sum weight log(1 + exp(-(2 y - 1) v.w)) + ||w||^2 / 2, y in {0, 1}, by damped Newton steps."""
    coef = np.zeros(cells.left.shape[1]) if start is None else start
    value, gradient, curvature = _derivatives(cells, coef)
    for _ in range(_MOST_STEPS):
        move = linalg.solve(curvature, gradient, assume_a="pos")
        gain = float(gradient @ move)
        if gain <= _CLOSE:
            return np.asarray(coef - move)
        size = 1.0
        while True:
            trial = _derivatives(cells, coef - size * move)
            if trial[0] <= value - size * gain / 4 or size < 1e-9:
                break
            size /= 2
        coef = coef - size * move
        value, gradient, curvature = trial
    return coef


def _derivatives(cells: Cells, coef: Vector) -> tuple[float, Vector, Matrix]:
    value, gradient, curvature = float(coef @ coef) * _RIDGE / 2, coef * _RIDGE, np.eye(len(coef)) * _RIDGE
    beside = cells.right @ coef
    for span in cells.spans():
        margins = np.repeat(span.left @ coef, np.diff(span.ends)) + beside[span.columns]
        targets = cells.targets[span.columns]
        small = np.exp(-np.abs(margins))
        chances = np.where(margins > 0, 1.0, small) / (1 + small)
        losses = np.maximum(margins, 0) + np.log1p(small) - targets * margins
        value += float(span.weights @ losses)
        gradient = gradient + cells.sums(span, span.weights * (chances - targets))
        curvature += cells.products(span, span.weights * chances * (1 - chances))
    return value, gradient, curvature
