"""Model formulas, such as "income ~ age + C(town) + age:sex": which columns and products of the bounds a model has.

formulaic parses the text. Nothing is evaluated or computed from rows: bounds declare whatever a formula needs.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from dplr._kit.extras import missing_library
from dplr._kit.validation import sentence
from dplr._kit.warnings import UtilityWarning, warn
from dplr.bounds.columns import Bins, Column, Levels, Numeric, require, write_column
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds

_FORM = 'Such as "income ~ age + C(town) + age:sex".'
_SHORTER = "Write . for all columns of the bounds."
_LONGEST, _MOST_FACTORS, _MOST_TERMS = 2**16, 2, 2**14  # characters; columns of a product; a model has 4096 columns
_POWERS = {"0": 0, "1": 1, "2": 2}
_SCALES = ("log", "log1p", "sqrt")  # functions that are transforms of bounds
_CURVE = 'Declare a curve of the column in the bounds, such as "knots": 8; its knots are public'
_PLAIN = "Write the column as it is: bounds scale it, and coefficients are in its units"
_BINS = 'Declare "bins" of the column in the bounds'
_LEARNING = (
    dict.fromkeys(("scale", "center", "standardize"), _PLAIN)
    | dict.fromkeys(("bs", "cr", "cc", "cs", "te"), _CURVE)
    | {"poly": f"{_CURVE}. Or write a square, I(age**2)", "cut": _BINS, "qcut": _BINS}
)
_CALL = (
    "Make the column beforehand, or declare it in the bounds: a transform, knots, bins, or products of two columns "
    "(a:b, and I(a**2) for a square)"
)


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
        left, right = _sides(text, declared)
        target = _target(left, text)
        terms = _selection(right)
        rule = f"must have the target, {target!r}, on its left side alone"
        require(target not in terms.columns, "formula", rule, text)
        remedy = "A model of an intercept alone is a mean: see ReleasedMoments.describe."
        require(len(terms.columns) > 0, "formula", "must have at least one column", text, remedy)
        bounds = _bounds(declared, terms, target)
        facts = {"text": text, "target": target, "bounds": bounds, "fit_intercept": terms.intercept}
        for name, value in facts.items():
            object.__setattr__(self, name, value)
        for product, names in terms.implied.items():
            warn(
                f"{product}: bounds have products beside their columns, so the model has {' and '.join(names)} too; "
                f"add {'it' if len(names) == 1 else 'them'} to the formula to say so.",
                UtilityWarning,
            )


_Term = tuple[str, "list[_Factor]"]


def _sides(text: Any, bounds: Bounds) -> tuple[list[_Term], list[_Term]]:
    """The terms on both sides, as text and in factors."""
    require(isinstance(text, str), "formula", "must be text", type(text).__name__, _FORM, TypeError)
    require(len(text) <= _LONGEST, "formula", f"must have at most {_LONGEST:,} characters", text, _SHORTER)
    try:
        from formulaic.errors import FormulaicError
        from formulaic.parser import DefaultFormulaParser
    except ModuleNotFoundError as missing:
        raise missing_library("a formula", "formulaic", "formulas", missing.name) from missing
    parser = DefaultFormulaParser()
    try:
        _check_size(parser.get_ast(text), text, len(bounds.columns))
        # Where the parser looks for what `.` stands for.
        sides = parser.get_terms(text, context={"__formulaic_variables_available__": list(bounds.names or ())})
        remedy = f"Write the target on the left of a tilde. {_FORM}"
        require(hasattr(sides, "lhs"), "formula", "must have two sides", text, remedy)
        for side in (sides.lhs, sides.rhs):
            one = not isinstance(side, tuple) and hasattr(side, "__iter__")
            require(one, "formula", "must be of one model, without |", text, "Fit one model after the other.")
        left, right = (
            [(str(term), [_Factor(each, str(term), bounds) for each in term.factors]) for term in side]
            for side in (sides.lhs, sides.rhs)
        )
        return left, right
    except (FormulaicError, SyntaxError, RecursionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(sentence("formula", f"must be one that formulaic reads ({reason})", text, _FORM)) from None


def _check_size(tree: Any, text: str, columns: int) -> None:
    """Refuse products of many columns and very many terms before the parser writes them out: n columns have 2^n."""
    nodes = [tree]
    for node in nodes:
        nodes.extend(getattr(node, "args", ()))
    sizes: dict[int, tuple[int, int]] = {}  # of a node: the most columns of a product, and the number of terms
    for node in reversed(nodes):
        if not hasattr(node, "args"):
            sizes[id(node)] = (not str(node).isdigit(), 1)
            continue
        sign, parts = node.operator.symbol, [sizes[id(part)] for part in node.args]
        factors, terms = max((size[0] for size in parts), default=1), sum(size[1] for size in parts)
        if sign == ".":
            terms = columns
        elif sign in ("**", "^"):
            exponent = node.args[1]
            power = _MOST_FACTORS + 1 if hasattr(exponent, "args") else _POWERS.get(str(exponent), _MOST_FACTORS + 1)
            factors, terms = parts[0][0] * power, (1 + parts[0][1]) ** power
        elif sign in ("*", ":", "/", "in"):
            factors, terms = sum(size[0] for size in parts), math.prod(1 + size[1] for size in parts)
        if factors > _MOST_FACTORS:
            rule = "must have products of two columns at most"
            raise ValueError(sentence("formula", rule, text, "Write them as a:b, a*b or (a + b + c)**2."))
        if terms > _MOST_TERMS:
            raise ValueError(sentence("formula", f"must have at most {_MOST_TERMS:,} terms", text, _SHORTER))
        sizes[id(node)] = factors, terms


def _target(terms: Sequence[_Term], text: str) -> str:
    """The one column on the left side."""
    factors = [factor for _, factors in terms for factor in factors]
    if len(factors) == 1 and factors[0].kind == "lookup":
        return factors[0].text
    remedy = (
        'Declare it in the bounds: target={"lower": 0, "upper": 200000} of a number, {"classes": ["no", "yes"]} of '
        'labels, of which a model is about the second one, or {"threshold": 50000}.'
    )
    raise ValueError(sentence("formula", "must have the name of one column on its left side", text, remedy))


class _Selection(NamedTuple):
    """The right side of a formula, as bounds have it.

    Attributes
    ----------
    columns : in the order of the terms; then those that stand in products alone.
    references : column -> the level that others are compared with.
    implied : products of the formula -> columns of theirs that no term names.
    """

    columns: tuple[str, ...]
    products: tuple[tuple[str, str], ...]
    references: Mapping[str, Any]
    implied: Mapping[str, tuple[str, ...]]
    intercept: bool


def _selection(terms: Sequence[_Term]) -> _Selection:
    intercept, mains, references = False, dict[str, None](), dict[str, Any]()
    products: dict[frozenset[str], tuple[tuple[str, str], str]] = {}
    for text, factors in terms:
        if text == "1" and factors[0].kind == "literal":
            intercept = True
            continue
        names: tuple[str, ...] = ()
        for columns, reference in [factor.read() for factor in factors]:
            names += columns
            if reference is not None:
                kept = references.setdefault(columns[0], reference)
                rule = f"must compare the levels of {columns[0]} with one reference, as in other terms with {kept!r}"
                require(kept == reference, "formula", rule, text)
        remedy = "Write products of two columns, such as (a + b + c)**2."
        require(len(names) < 3, "formula", "must have products of two columns at most", text, remedy)
        if len(names) == 1:
            mains[names[0]] = None
        else:
            products.setdefault(frozenset(names), ((names[0], names[1]), text))
    lone = {text: tuple(name for name in dict.fromkeys(pair) if name not in mains) for pair, text in products.values()}
    implied = {text: names for text, names in lone.items() if names}
    columns = (*mains, *dict.fromkeys(name for names in implied.values() for name in names))
    return _Selection(columns, tuple(pair for pair, _ in products.values()), references, implied, intercept)


class _Factor:
    """A factor of a term, read against bounds: a name, a number, or the syntax tree of anything else."""

    def __init__(self, factor: Any, term: str, bounds: Bounds) -> None:
        from formulaic.utils.code import sanitize_variable_names

        self.kind, self.text, self.term, self.bounds = factor.eval_method.value, str(factor.expr), term, bounds
        self.aliases: dict[str, str] = {}  # in the tree, of columns whose names are no names of Python
        if self.kind not in ("lookup", "literal"):
            self.code = ast.parse(sanitize_variable_names(self.text, {}, self.aliases), mode="eval").body

    def read(self) -> tuple[tuple[str, ...], Any]:
        """One column, or two of which it is the product; and the level or bin that others are compared with, if any."""
        if self.kind == "lookup":
            return (self._declared(self.text),), None
        remedy = "Coefficients multiply columns: leave the number out."
        require(self.kind != "literal", "formula", "must not multiply columns by numbers", self.term, remedy)
        code = self.code
        if not isinstance(code, ast.Call):
            self._refuse("Python", _CALL)
        called = ast.unparse(code.func)
        short = called.rpartition(".")[2]
        if called == "C":
            return self._categories(code)
        if called == "I" and len(code.args) == 1 and not code.keywords:
            return self._product(code.args[0]), None
        if short in _SCALES and called in (short, f"np.{short}") and len(code.args) == 1:
            return self._scaled(code.args[0], short), None
        if short in _LEARNING:
            self._refuse(f"{called}()", _LEARNING[short], "it would learn from the rows without noise")
        self._refuse(f"{called}()", _CALL)

    def _refuse(self, called: str, remedy: str, reason: str = "no term is computed from the rows") -> NoReturn:
        raise ValueError(sentence("formula", f"must not have {called}: {reason}", self.text, f"{remedy}."))

    def _declared(self, name: str) -> str:
        names = self.bounds.names or ()
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            remedy = f"Did you mean {close[0]!r}?" if close else "Declare it among the features of the bounds."
            rule = f"must have columns that the bounds name, {list(names)[:20]}"
            raise ValueError(sentence("formula", rule, name, remedy))
        return name

    def _column(self, node: ast.expr) -> tuple[str, Column]:
        """The column that a node of the syntax tree names."""
        if not isinstance(node, ast.Name):
            self._refuse("Python", _CALL)
        name = self._declared(self.aliases.get(node.id, node.id))
        return name, self.bounds.columns[(self.bounds.names or ()).index(name)]

    def _scaled(self, node: ast.expr, transform: str) -> tuple[str]:
        """A function of a column, as its bounds have it already."""
        name, column = self._column(node)
        declared = column.transform if isinstance(column, Numeric) else None
        remedy = f'Declare "transform": "{transform}" of {name}, and write {name} or {transform}({name}).'
        rule = f"must have the transform of {name} that its bounds have, {declared!r}"
        require(declared == transform, "formula", rule, self.text, remedy)
        return (name,)

    def _product(self, node: ast.expr) -> tuple[str, str]:
        """I(a**2), or I(a * b)."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self._column(node.left)[0], self._column(node.right)[0]
        power = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else None
        if isinstance(node, ast.BinOp) and isinstance(power, ast.Constant) and power.value == 2:
            name, _ = self._column(node.left)
            return name, name
        self._refuse("I() of anything but a square or a product", _CALL)

    def _categories(self, call: ast.Call) -> tuple[tuple[str], Any]:
        """C(x), or C(x, Treatment(level))."""
        contrasts = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "contrasts")]
        alone = call.args and len(contrasts) < 2 and len(contrasts) + 1 == len(call.args) + len(call.keywords)
        remedy = 'Levels are those of the bounds. Write C(town), or C(town, Treatment("north")).'
        require(bool(alone), "formula", "must have C() of a column and its reference alone", self.text, remedy)
        name, column = self._column(call.args[0])
        if not isinstance(column, (Levels, Bins)) or (isinstance(column, Levels) and column.kind == "ordinal"):
            remedy = f'Declare {{"levels": [...]}} of {name} in the bounds: levels are public, and never learnt.'
            rule = f"must have levels or bins in C(), and {name} is declared {column}"
            raise ValueError(sentence("formula", rule, self.text, remedy))
        return (name,), self._reference(contrasts[0], column, name) if contrasts else None

    def _reference(self, node: ast.expr, column: Levels | Bins, name: str) -> Any:
        """The level that a treatment contrast compares with."""
        values = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
        called = ast.unparse(node.func if isinstance(node, ast.Call) else node)
        remedy = f"Write C({name}), or C({name}, Treatment(...)) with a level: other contrasts follow from its table."
        known = called in ("Treatment", "contr.treatment")
        require(known, "formula", f"must not have the contrasts {called}", self.text, remedy)
        if not values and isinstance(column, Levels):
            return column.levels[0]
        try:
            (level,) = (ast.literal_eval(value) for value in values)
        except ValueError:
            remedy = (
                f"Such as C({name}, Treatment({column.levels[0] if isinstance(column, Levels) else column.lower!r}))."
            )
            raise ValueError(sentence("formula", "must name one level as the reference", self.text, remedy)) from None
        if isinstance(column, Levels):
            there = any(level == entry and type(level) is type(entry) for entry in column.levels)
            rule = f"must have a level of {name} as the reference, one of {list(column.levels)[:20]}"
            require(there, "formula", rule, self.text)
        return level


def _bounds(declared: Bounds, terms: _Selection, target: str) -> Bounds:
    """The bounds of the columns of a formula."""
    columns = dict(zip(declared.names or (), declared.columns, strict=True))
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
        levels = [column.levels[place] for place in column.positions]
        pairs = sorted(zip(column.values, levels, strict=True), key=lambda pair: pair[1] != reference)
        return written | {"levels": [value for value, _ in pairs]}
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
