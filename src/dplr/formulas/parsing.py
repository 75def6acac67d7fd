"""From the text of a formula to its terms, by the parser of formulaic; nothing is evaluated."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dplr._kit.extras import missing_library
from dplr._kit.validation import sentence

_FORM = 'Such as "income ~ age + C(town) + age:sex".'
_VARIABLES = "__formulaic_variables_available__"  # where its parser looks for what `.` stands for
_SHORTER = "Write . for all columns of the bounds."
_LONGEST, _MOST_FACTORS, _MOST_TERMS = 2**16, 2, 2**14  # characters; columns of a product; a model has 4096 columns
_POWERS = {"0": 0, "1": 1, "2": 2}
LOOKUP, LITERAL = "lookup", "literal"


@dataclass(frozen=True, slots=True)
class Factor:
    """A part of a term.

    Attributes
    ----------
    text : as it stands in the formula.
    column : the column that it is, where it is no more than a name.
    code : the syntax tree of anything else; None for a number.
    aliases : names in the tree of columns whose names are no names of Python.
    """

    text: str
    column: str | None
    code: ast.expr | None
    aliases: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the right side: a factor, or a product of several.

    Attributes
    ----------
    text : as it stands in the formula.
    factors : the parts of it.
    """

    text: str
    factors: tuple[Factor, ...]


def sides_of(text: Any, columns: Sequence[str]) -> tuple[Sequence[Term], Sequence[Term]]:
    """The terms on both sides of a formula; `columns` are those that `.` stands for."""
    if not isinstance(text, str):
        raise TypeError(sentence("formula", "must be text", type(text).__name__, _FORM))
    if len(text) > _LONGEST:
        raise ValueError(sentence("formula", f"must have at most {_LONGEST:,} characters", text, _SHORTER))
    parser, errors = _parser()
    try:
        _check_size(parser.get_ast(text), text, len(columns))
        sides = parser.get_terms(text, context={_VARIABLES: list(columns)})
        if not hasattr(sides, "lhs"):
            remedy = f"Write the target on the left of a tilde. {_FORM}"
            raise ValueError(sentence("formula", "must have two sides", text, remedy))
        for side in (sides.lhs, sides.rhs):
            if isinstance(side, tuple) or not hasattr(side, "__iter__"):
                remedy = "Fit one model after the other."
                raise ValueError(sentence("formula", "must be of one model, without |", text, remedy))
        return [_term(term) for term in sides.lhs], [_term(term) for term in sides.rhs]
    except (errors, SyntaxError, RecursionError) as error:
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


def _term(term: Any) -> Term:
    return Term(str(term), tuple(_factor(factor) for factor in term.factors))


def _factor(factor: Any) -> Factor:
    from formulaic.utils.code import sanitize_variable_names

    kind, text = factor.eval_method.value, str(factor.expr)
    if kind == LOOKUP:
        return Factor(text, text, None)
    if kind == LITERAL:
        return Factor(text, None, None)
    aliases: dict[str, str] = {}
    code = sanitize_variable_names(text, {}, aliases)
    return Factor(text, None, ast.parse(code, mode="eval").body, tuple(aliases.items()))


def _parser() -> tuple[Any, type[Exception]]:
    """The parser, and what it raises."""
    try:
        from formulaic.errors import FormulaicError
        from formulaic.parser import DefaultFormulaParser
    except ModuleNotFoundError as missing:
        raise missing_library("a formula", "formulaic", "formulas", missing.name) from missing
    return DefaultFormulaParser(), FormulaicError
