"""Queries that rows can sum.

A query names the shape of its answer, adds a block of rows, and asks for its own way of being summed (`totals.py`).
Moments, clipped gradients, scores and sandwiches are exact: whole multiples of a power of two, the same in any order.
Gradients and Hessians of losses (`losses.py`) are float64 with a bound on their rounding.
"""
