"""Regression tables of fitted models: estimates, intervals and what they mean, from released numbers alone. Private.

`columns.py` and `contrasts.py` say which numbers a table is about; `subject.py` makes lines of a reading, `released.py`
of coefficients that have no intervals. `table.Summary` holds them, and `render.py` prints them.
"""
