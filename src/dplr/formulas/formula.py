"""A formula read against bounds: the target, and the bounds of the columns and products that a model has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dplr._kit.validation import sentence
from dplr._kit.warnings import UtilityWarning, warn
from dplr.bounds.columns import write_column
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds
from dplr.bounds.kinds import Bins, Column, Levels, Numeric
from dplr.formulas.parsing import Term, sides_of
from dplr.formulas.terms import Selection, selection_of


@dataclass(frozen=True, init=False)
class Formula:
    """A model formula, read against public bounds: which of their columns and products a model has.

    `dplr.fit` takes the text as well. This value is for what has bounds and no rows, such as `dplr.plan` and the
    estimators.

    Parameters
    ----------
    text : str
        Such as "income ~ age + C(town) + age:sex". On the left stands the target. On the right stand declared columns,
        ``.`` for all of them, ``C(town, Treatment("north"))`` for levels with a reference, ``a:b`` and ``a*b`` for
        products of two, ``I(age**2)`` for a square, and ``0 +`` or ``- 1`` for no intercept. ``log(x)``, ``log1p(x)``
        and ``sqrt(x)`` are columns whose bounds declare that transform.
    bounds : Bounds, mapping or path-like
        Public bounds of the columns by name. Where they have no target, the target's bounds or levels among the
        features are taken.

    Attributes
    ----------
    text : str
        The formula.
    target : str
        Name of the target's column.
    bounds : dplr.Bounds
        Of the columns of the formula alone, in the order of its terms, with references and products.
    fit_intercept : bool
        Whether the formula has an intercept.

    Raises
    ------
    ValueError, TypeError
        The formula cannot be parsed, a column is not declared, or a term is no column, reference or product: whatever
        would be computed from the rows is refused.
    ModuleNotFoundError
        formulaic is not installed (extra `formulas`).

    Warns
    -----
    UtilityWarning
        A product has a column that no term names. Bounds have products beside their columns: it is in the model too.

    Privacy
    -------
    A function of the text and of the bounds, which are assumed public: no row is read, and nothing is learnt.

    See Also
    --------
    dplr.fit : Fit the model of a formula.
    dplr.Bounds : What bounds can say of columns.

    References
    ----------
    G. N. Wilkinson and C. E. Rogers, Symbolic description of factorial models for analysis of variance, Applied
    Statistics 22, 1973. The grammar is that of formulaic.

    Examples
    --------
    >>> import dplr
    >>> bounds = {"age": (18, 99), "town": {"levels": ["north", "south"]}, "income": (0, 80_000)}
    >>> formula = dplr.Formula('income ~ age*C(town, Treatment("south"))', bounds)
    >>> formula.target, formula.bounds.target
    ('income', (0.0, 80000.0))
    >>> formula.bounds.coef_names
    ('age', 'town=north', 'age*town=north')
    >>> dplr.plan(bounds=formula.bounds, model="linear", n_rows=10_000, eps=1.0).statement.eps
    1.0
    >>> dplr.Formula("income ~ scale(age)", bounds)
    Traceback (most recent call last):
        ...
    ValueError: `formula` must not have scale(): it would learn from the rows without noise; got 'scale(age)'. Write \
the column as it is: bounds scale it, and coefficients are in its units.
    """

    text: str
    target: str
    bounds: Bounds = field(repr=False)
    fit_intercept: bool

    def __init__(self, text: str, bounds: BoundsLike) -> None:
        declared = as_bounds(bounds)
        if declared is None or declared.names is None:
            got = None if declared is None else "bounds by position"
            remedy = "A formula names columns: declare bounds=dplr.Bounds({'age': (18, 99), ...})."
            raise ValueError(sentence("bounds", "must name their columns for a formula", got, remedy))
        goals, right = sides_of(text, declared.names)
        target = _target(goals, text)
        terms = selection_of(right, declared)
        if target in terms.columns:
            raise ValueError(sentence("formula", f"must have the target, {target!r}, on its left side alone", text))
        if not terms.columns:
            remedy = "A model of an intercept alone is a mean: see ReleasedMoments.describe."
            raise ValueError(sentence("formula", "must have at least one column", text, remedy))
        for name, value in (
            ("text", text), ("target", target), ("bounds", _bounds(declared, terms, target)),
            ("fit_intercept", terms.intercept),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        for product, names in terms.implied.items():
            warn(
                f"{product}: bounds have products beside their columns, so the model has {' and '.join(names)} too; "
                f"add {'it' if len(names) == 1 else 'them'} to the formula to say so.", UtilityWarning,
            )  # fmt: skip


def _target(terms: Sequence[Term], text: str) -> str:
    """The one column on the left side."""
    factors = [factor for term in terms for factor in term.factors]
    if len(factors) == 1 and factors[0].column is not None:
        return factors[0].column
    remedy = (
        'Declare it in the bounds: target={"lower": 0, "upper": 200000} of a number, {"classes": ["no", "yes"]} of '
        'labels, of which a model is about the second one, or {"threshold": 50000}.'
    )
    raise ValueError(sentence("formula", "must have the name of one column on its left side", text, remedy))


def _bounds(declared: Bounds, terms: Selection, target: str) -> Bounds:
    """The bounds of the columns of a formula."""
    assert declared.names is not None
    columns = dict(zip(declared.names, declared.columns, strict=True))
    features = {name: _written(columns[name], terms.references.get(name)) for name in terms.columns}
    values = declared.to_dict() | {"features": features, "products": [list(pair) for pair in terms.products]}
    if "target" not in values and target in columns:
        values["target"] = _target_of(target, columns[target])
    return Bounds.from_dict(values)


def _written(column: Column, reference: Any) -> dict[str, Any]:
    """A column as bounds write it, with a reference."""
    written = write_column(column)
    if reference is None:
        return written
    if isinstance(column, Levels) and column.kind == "binary":  # one column, 0 for the first of two levels
        values = sorted(
            zip(column.values, column.positions, strict=True), key=lambda pair: column.levels[pair[1]] != reference
        )
        return written | {"levels": [value for value, _ in values]}
    return written | {"reference": reference}


def _target_of(name: str, column: Column) -> Mapping[str, Any]:
    """The target that a declared feature would be."""
    if type(column) is Numeric and column.transform == "clip":
        return {"lower": column.lower, "upper": column.upper}
    if isinstance(column, Levels) and not column.spellings and column.kind != "ordinal":
        return {"classes": list(column.levels)}
    kind = "bins" if isinstance(column, Bins) else str(column)
    remedy = "Declare target=... in the bounds."
    raise ValueError(sentence("formula", f"must have a number or levels as its target; {name} is {kind}", name, remedy))
