"""Model formulas, such as "income ~ age + C(town) + age:sex": which columns and products of the bounds a model has.

`parsing.py` is the one door of formulaic, whose parser reads a formula. `terms.py` makes columns, references and
products of its terms. Nothing is computed from rows here: what a formula needs must be declared in the bounds. Private.
"""

from __future__ import annotations
