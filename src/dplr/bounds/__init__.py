"""Public facts of the columns. Private.

`declared.Bounds` is what a user declares, in Python or in a file. `columns.py` has the kinds of column, `layout.py` the
columns that the model makes of them, and `scaling.py` how a raw row becomes a scaled one and coefficients come back to
the user's units. Nothing here sees a value of the rows.

>>> from dplr.bounds import Bounds
>>> Bounds({"age": (18, 99), "sex": {"levels": ["f", "m"]}}).names
('age', 'sex')
"""

from dplr.bounds.declared import Bounds

__all__ = ["Bounds"]
