"""The contingency table of rows with noise: empty cells are never listed one by one.

Proofs: histogram.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplr.baselines.hits import LARGEST_INT64, Positions, Words, geometric, hits, two_sided
from dplr.baselines.law import TwoSided
from dplr.noise import Source

Counts = NDArray[np.int64]


def counted(codes: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> tuple[Positions, Counts]:
    """The cells that rows lie in, in order, and how many rows each holds.

    `codes` are the places of the rows on each axis, and `sizes` the lengths of the axes; the last one varies fastest.
    """
    limbs: list[NDArray[np.int64]] = []
    scales: list[int] = []
    for code, size in zip(codes, sizes, strict=True):
        if limbs and scales[-1] * size < LARGEST_INT64:
            limbs[-1] = limbs[-1] * size + code
            scales[-1] *= size
        else:
            limbs.append(code)
            scales.append(size)
    if len(limbs) == 1:
        return np.unique(limbs[0], return_counts=True)
    order = np.lexsort(limbs[::-1])
    rows = np.stack(limbs, axis=1)[order]
    firsts = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
    positions = np.zeros(len(firsts), object)
    for limb, scale in zip(rows[firsts].T, scales, strict=True):
        positions = positions * scale + limb.astype(object)
    counts = np.diff(np.append(firsts, len(rows)))
    return positions, counts


def noisy(
    positions: Positions, counts: Counts, cells: int, law: TwoSided, theta: int, source: Source
) -> tuple[Positions, Counts]:
    """All cells whose count with noise is at least theta, in order, and those counts.

    Parameters
    ----------
    positions, counts : of the cells that are not empty, in order.
    cells : how many there are in all; they may be more than any machine can list.
    law : of the noise on every count.
    theta : a public integer of at least 1.
    source : of the noise.

    Returns
    -------
    Positions and counts, with the very law of noise on every cell of a list of all (theorem 2).
    """
    values = counts + two_sided(source, len(counts), law.stop)
    kept = values >= theta
    passed = hits(Words(source), cells, *law.passing(theta))
    empty = passed[~_among(passed, positions)]
    above = theta + geometric(source, len(empty), law.stop)
    places = np.concatenate([positions[kept], empty])
    order = np.argsort(places, kind="stable")
    return places[order], np.concatenate([values[kept], above])[order]


def priority_sample(
    positions: Positions, counts: Counts, size: int, source: Source
) -> tuple[Positions, NDArray[np.float64]]:
    """At most `size` of the cells, in order, with weights whose expectations are the counts (Duffield et al. 2007).

    The cells with the largest q = count / u, u uniform in (0, 1], are taken, with weights max(count, tau) for the next
    largest q, tau. A function of what is released, and of randomness that knows no data.
    """
    if len(counts) <= size:
        return positions, counts.astype(np.float64)
    uniform = ((Words(source).draw(len(counts)) >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53
    ranks = counts / uniform
    order = np.argpartition(-ranks, size)
    sample = np.sort(order[:size])
    return positions[sample], np.maximum(counts[sample], ranks[order[size]])


def _among(values: Positions, members: Positions) -> NDArray[np.bool_]:
    """Which values are among those known; both are sorted."""
    if not len(members):
        return np.zeros(len(values), bool)
    places = np.minimum(np.searchsorted(members, values), len(members) - 1)
    return np.asarray(members[places] == values, bool)
