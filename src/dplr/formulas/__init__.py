"""Model formulas, such as "income ~ age + C(town) + age:sex": columns and products of the bounds. Private.

`parsing.py` is the one door of formulaic, whose parser reads a formula. `terms.py` makes columns, references and
products of its terms. Nothing is computed from rows here: what a formula needs must be declared in the bounds.
"""

from __future__ import annotations
