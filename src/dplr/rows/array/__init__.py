"""Rows of one array or table.

`rows.py` answers `total` block by block; `blocks.py` reads a block where it lies, converted, or encoded, and adds spans
on threads. Clipped gradients and minima have loops of their own, which stay in compiled code.
"""
