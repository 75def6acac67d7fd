"""Intervals from released numbers: knows no rows and no privacy. Proofs: intervals.md. Private.

A mechanism hands over a `Reading`: an equation, matrix times coefficients = vector, with noise of a known law on both
sides. `score.py` tests a value of a coefficient against it, `intervals.py` collects the values that no test rejects,
and `sampling.py` adds the variance of the rows themselves.
"""
