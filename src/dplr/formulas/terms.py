"""From the terms of a formula to what bounds declare: columns with references, and products of two of them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from dplr._kit.validation import sentence
from dplr.bounds.declared import Bounds
from dplr.bounds.kinds import Bins, Column, Levels, Numeric
from dplr.formulas.parsing import Factor, Term

_CATEGORIES, _IDENTITY = "C", "I"
_TREATMENT = ("Treatment", "contr.treatment")
_SCALES = {"log": "log", "log1p": "log1p", "sqrt": "sqrt"}  # functions, by the transform of bounds that they are
_CURVE = 'Declare a curve of the column in the bounds, such as "knots": 8; its knots are public'
_PLAIN = "Write the column as it is: bounds scale it, and coefficients are in its units"
_LEARNING = {
    "scale": _PLAIN, "center": _PLAIN, "standardize": _PLAIN, "bs": _CURVE, "cr": _CURVE, "cc": _CURVE, "cs": _CURVE,
    "te": _CURVE, "poly": f"{_CURVE}. Or write a square, I(age**2)",
    "cut": 'Declare "bins" of the column in the bounds', "qcut": 'Declare "bins" of the column in the bounds',
}  # fmt: skip
_CALL = (
    "Make the column beforehand, or declare it in the bounds: a transform, knots, bins, or products of two columns "
    "(a:b, and I(a**2) for a square)"
)


@dataclass(frozen=True, slots=True)
class _Part:
    """A factor as bounds have it.

    Attributes
    ----------
    columns : one name, or two of which it is the product.
    reference : the level or the bin that others are compared with; None where the formula names none.
    """

    columns: tuple[str, ...]
    reference: Any = None


@dataclass(frozen=True, eq=False, slots=True)
class Selection:
    """The right side of a formula, as bounds have it.

    Attributes
    ----------
    columns : names, in the order of the terms; then those that stand in products alone.
    products : pairs of names.
    references : column -> the level that others are compared with.
    implied : products of the formula -> columns of theirs that no term names.
    intercept : whether there is one.
    """

    columns: tuple[str, ...]
    products: tuple[tuple[str, str], ...]
    references: Mapping[str, Any]
    implied: Mapping[str, tuple[str, ...]]
    intercept: bool


def selection_of(terms: Sequence[Term], bounds: Bounds) -> Selection:
    """The columns and products of the terms."""
    intercept, mains, references = False, dict[str, None](), dict[str, Any]()
    products: dict[frozenset[str], tuple[tuple[str, str], str]] = {}
    for term in terms:
        if term.text == "1" and term.factors[0].code is None and term.factors[0].column is None:
            intercept = True
            continue
        parts = [_part(factor, term, bounds) for factor in term.factors]
        for part in parts:
            _refer(references, part, term)
        names = tuple(name for part in parts for name in part.columns)
        if len(names) == 1:
            mains[names[0]] = None
        elif len(names) == 2:
            products.setdefault(frozenset(names), ((names[0], names[1]), term.text))
        else:
            remedy = "Write products of two columns, such as (a + b + c)**2."
            raise ValueError(sentence("formula", "must have products of two columns at most", term.text, remedy))
    pairs = tuple(pair for pair, _ in products.values())
    lone = {text: tuple(name for name in dict.fromkeys(pair) if name not in mains) for pair, text in products.values()}
    implied = {text: names for text, names in lone.items() if names}
    columns = (*mains, *dict.fromkeys(name for names in implied.values() for name in names))
    return Selection(columns, pairs, references, implied, intercept)


def _refer(references: dict[str, Any], part: _Part, term: Term) -> None:
    """Note the reference of a column, which must be one in all terms."""
    if part.reference is None:
        return
    (name,) = part.columns
    if references.setdefault(name, part.reference) != part.reference:
        rule = f"must compare the levels of {name} with one reference, as in other terms with {references[name]!r}"
        raise ValueError(sentence("formula", rule, term.text))


def _part(factor: Factor, term: Term, bounds: Bounds) -> _Part:
    if factor.column is not None:
        return _Part((_declared(factor.column, bounds),))
    if factor.code is None:
        remedy = "Coefficients multiply columns: leave the number out."
        raise ValueError(sentence("formula", "must not multiply columns by numbers", term.text, remedy))
    aliases = dict(factor.aliases)
    if not isinstance(factor.code, ast.Call):
        _refuse(factor, "Python", _CALL)
    called = ast.unparse(factor.code.func)
    if called == _CATEGORIES:
        return _categories(factor, factor.code, aliases, bounds)
    arguments = factor.code.args
    short = called.rpartition(".")[2]
    if called == _IDENTITY and len(arguments) == 1 and not factor.code.keywords:
        return _product(factor, arguments[0], aliases, bounds)
    if called in (*_SCALES, *(f"np.{name}" for name in _SCALES)) and len(arguments) == 1:
        return _scaled(factor, arguments[0], _SCALES[short], aliases, bounds)
    if short in _LEARNING:
        _refuse(factor, f"{called}()", _LEARNING[short], learns=True)
    _refuse(factor, f"{called}()", _CALL)


def _refuse(factor: Factor, called: str, remedy: str, learns: bool = False) -> NoReturn:
    reason = "it would learn from the rows without noise" if learns else "no term is computed from the rows"
    raise ValueError(sentence("formula", f"must not have {called}: {reason}", factor.text, f"{remedy}."))


def _declared(name: str, bounds: Bounds) -> str:
    names = bounds.names or ()
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, 1)
    remedy = f"Did you mean {close[0]!r}?" if close else "Declare it among the features of the bounds."
    raise ValueError(sentence("formula", f"must have columns that the bounds name, {list(names)[:20]}", name, remedy))


def _name(node: ast.expr, factor: Factor, aliases: Mapping[str, str], bounds: Bounds) -> str:
    """The column that a node of the syntax tree names."""
    if not isinstance(node, ast.Name):
        _refuse(factor, "Python", _CALL)
    return _declared(aliases.get(node.id, node.id), bounds)


def _column(name: str, bounds: Bounds) -> Column:
    assert bounds.names is not None
    return bounds.columns[bounds.names.index(name)]


def _scaled(factor: Factor, node: ast.expr, transform: str, aliases: Mapping[str, str], bounds: Bounds) -> _Part:
    """A function of a column, as its bounds have it already."""
    name = _name(node, factor, aliases, bounds)
    column = _column(name, bounds)
    declared = column.transform if isinstance(column, Numeric) else None
    if declared != transform:
        remedy = f'Declare "transform": "{transform}" of {name}, and write {name} or {transform}({name}).'
        rule = f"must have the transform of {name} that its bounds have, {declared!r}"
        raise ValueError(sentence("formula", rule, factor.text, remedy))
    return _Part((name,))


def _product(factor: Factor, node: ast.expr, aliases: Mapping[str, str], bounds: Bounds) -> _Part:
    """I(a**2), or I(a * b)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        first, second = (_name(side, factor, aliases, bounds) for side in (node.left, node.right))
        return _Part((first, second))
    power = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else None
    if isinstance(node, ast.BinOp) and isinstance(power, ast.Constant) and power.value == 2:
        name = _name(node.left, factor, aliases, bounds)
        return _Part((name, name))
    _refuse(factor, "I() of anything but a square or a product", _CALL)


def _categories(factor: Factor, call: ast.Call, aliases: Mapping[str, str], bounds: Bounds) -> _Part:
    """C(x), or C(x, Treatment(level))."""
    contrasts = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "contrasts")]
    if not call.args or len(contrasts) > 1 or len(contrasts) + 1 != len(call.args) + len(call.keywords):
        remedy = 'Levels are those of the bounds. Write C(town), or C(town, Treatment("north")).'
        raise ValueError(sentence("formula", "must have C() of a column and its reference alone", factor.text, remedy))
    name = _name(call.args[0], factor, aliases, bounds)
    column = _column(name, bounds)
    if not isinstance(column, (Levels, Bins)) or (isinstance(column, Levels) and column.kind == "ordinal"):
        remedy = f'Declare {{"levels": [...]}} of {name} in the bounds: levels are public, and never learnt.'
        rule = f"must have levels or bins in C(), and {name} is declared {column}"
        raise ValueError(sentence("formula", rule, factor.text, remedy))
    if not contrasts:
        return _Part((name,))
    return _Part((name,), _reference(factor, contrasts[0], column, name))


def _reference(factor: Factor, node: ast.expr, column: Levels | Bins, name: str) -> Any:
    """The level that a treatment contrast compares with."""
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ast.unparse(node)
    if called not in _TREATMENT:
        remedy = f"Write C({name}), or C({name}, Treatment(...)) with a level: other contrasts follow from its table."
        raise ValueError(sentence("formula", f"must not have the contrasts {called}", factor.text, remedy))
    values = [] if not isinstance(node, ast.Call) else [*node.args, *(word.value for word in node.keywords)]
    if not values and isinstance(column, Levels):
        return column.levels[0]
    try:
        (level,) = (ast.literal_eval(value) for value in values)
    except ValueError:
        remedy = f"Such as C({name}, Treatment({_example(column)!r}))."
        raise ValueError(sentence("formula", "must name one level as the reference", factor.text, remedy)) from None
    if isinstance(column, Levels) and not any(level == entry and type(level) is type(entry) for entry in column.levels):
        rule = f"must have a level of {name} as the reference, one of {list(column.levels)[:20]}"
        raise ValueError(sentence("formula", rule, factor.text))
    return level


def _example(column: Levels | Bins) -> Any:
    return column.levels[0] if isinstance(column, Levels) else column.lower
