"""From the text of a formula to its terms, by the parser of formulaic; nothing is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dplr._kit.extras import missing_library
from dplr._kit.validation import sentence

_FORM = 'Such as "income ~ age + C(town) + age:sex".'
_VARIABLES = "__formulaic_variables_available__"  # where its parser looks for what `.` stands for
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
    parser, errors = _parser()
    try:
        sides = parser.get_terms(text, context={_VARIABLES: list(columns)})
    except (errors, SyntaxError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(sentence("formula", f"must be one that formulaic reads ({reason})", text, _FORM)) from None
    if not hasattr(sides, "lhs"):
        remedy = f"Write the target on the left of a tilde. {_FORM}"
        raise ValueError(sentence("formula", "must have two sides", text, remedy))
    for side in (sides.lhs, sides.rhs):
        if isinstance(side, tuple) or not hasattr(side, "__iter__"):
            remedy = "Fit one model after the other."
            raise ValueError(sentence("formula", "must be of one model, without |", text, remedy))
    return [_term(term) for term in sides.lhs], [_term(term) for term in sides.rhs]


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
