"""Clipped gradients of many models by the kernel that sums them in one pass."""

import numpy as np

from dplr.rows.exact import Total, kernel_of, normalised


def sum_of_many(rows, queries, coefs) -> Total:
    """The sums over all rows at points (k, q), each clipped as its query says; the queries share their exponent."""
    hi, lo = np.zeros((2, *coefs.shape), np.int64)
    loss, units = queries[0].loss, np.array([query.per_unit for query in queries])
    clips = np.array([query.clip for query in queries]) * units
    points = coefs * 2.0**20
    rows.clipped_rows.add_many(kernel_of(loss), loss.width, points, clips, units, 0, len(rows), None, hi, lo)
    return normalised(hi, lo, queries[0].exponent, None)
