"""Releases without their noise, and what its source was asked for: losses of integer noise are then explicit."""

import contextlib
import unittest.mock

import numpy as np

from dplr.noise import Source
from dplr.privacy.law import Law

LAWS = {"laplace": Law.DISCRETE_LAPLACE, "gaussian": Law.DISCRETE_GAUSSIAN}


@contextlib.contextmanager
def silent_noise():
    """All integer noise is 0; yields the list of what is asked for: law, units and how many."""
    asked = []

    def silent(law):
        def zeros(self, units, size):
            self._tell()  # as a source does before it draws
            asked.append((law, units, size))
            return np.zeros(size, np.int64)

        return zeros

    with contextlib.ExitStack() as stack:
        for method, law in LAWS.items():
            stack.enter_context(unittest.mock.patch.object(Source, method, silent(law)))
        yield asked


def numbers_over_noise(released, blocks, asked):
    """All released numbers, each over the scale of the noise that was asked for; infinite where it has none alone."""
    if len(asked) != len(blocks):
        asked = [(Law.NONE, 0, 0)] * len(blocks)
    parts = []
    for numbers, block, (law, units, size) in zip(released, blocks, asked, strict=True):
        scale = units * block.grid if law is Law.DISCRETE_LAPLACE else units**0.5 * block.grid
        parts.append(numbers / scale if size == len(numbers) else np.where(numbers, np.inf, 0.0))
    return np.concatenate(parts)


def largest_distance(points, others=None, norm=1):
    """The largest distance between two of them, or between one and one of the others."""
    points = np.array(points)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(points[:, np.newaxis] - np.array(points if others is None else others)[np.newaxis])
    return float(np.nan_to_num((gaps**norm).sum(axis=2) ** (1 / norm), nan=np.inf).max())
