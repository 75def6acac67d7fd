"""Linear combinations of coefficients as text: "a - b", "2*hours - age = 100", "(a + b)/2 = c"."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import describe, sentence

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SIGNS, _QUOTES = "+-*/()=", "`\"'"
_NAME, _VALUE, _SIGN = "name", "number", "sign"
Token: TypeAlias = "tuple[str, str]"


@dataclass(frozen=True, eq=False, slots=True)
class Combination:
    """A hypothesis: weights times coefficients is a value.

    Attributes
    ----------
    text : as it was written.
    weights : (m,) of the coefficients of a table.
    value : of the combination; 0 where the text names none.
    stated : whether the text has an equals sign.
    """

    text: str
    weights: NDArray[np.float64]
    value: float
    stated: bool


@dataclass(frozen=True, eq=False, slots=True)
class _Form:
    """Weights times coefficients, plus a constant."""

    weights: NDArray[np.float64]
    constant: float

    @property
    def plain(self) -> bool:
        """Whether no coefficient has a part in it."""
        return not self.weights.any()

    def plus(self, summand: _Form, factor: float = 1.0) -> _Form:
        """The sum with a multiple of another one."""
        return _Form(self.weights + factor * summand.weights, self.constant + factor * summand.constant)

    def times(self, factor: float) -> _Form:
        return _Form(factor * self.weights, factor * self.constant)


def combinations(
    texts: Sequence[str],
    names: Sequence[str],
    zeros: Collection[str],
    blocks: Mapping[str, Sequence[str]],
    parameter: str = "columns",
) -> list[Combination]:
    """The combinations that these texts write, of coefficients with these `names`.

    Names are matched first, longest first; in quotes or backquotes they may be part of a longer word.

    Parameters
    ----------
    zeros : names that count as 0: the reference levels.
    blocks : names of columns with several coefficients, and these: an error says which.
    parameter : what an error blames.

    Raises
    ------
    ValueError
        A text is no linear combination of names and numbers, or has no coefficient.
    """
    return [_Parser(text, names, zeros, blocks, parameter).combination() for text in texts]


class _Parser:
    """Reads one text by recursive descent: sums of products of names, numbers and parentheses."""

    def __init__(
        self,
        text: str,
        names: Sequence[str],
        zeros: Collection[str],
        blocks: Mapping[str, Sequence[str]],
        parameter: str,
    ) -> None:
        if not isinstance(text, str):
            raise TypeError(sentence(parameter, "must be text, such as '2*a - b = 3'", text))
        self._text, self._size, self._blocks, self._parameter = text, len(names), blocks, parameter
        self._places: dict[str, int | None] = {**dict.fromkeys(zeros), **{name: k for k, name in enumerate(names)}}
        self._longest = sorted({*self._places, *blocks}, key=len, reverse=True)
        self._tokens, self._next = list(self._scanned()), 0

    def combination(self) -> Combination:
        """The whole text."""
        form, stated = self._sum(), False
        if self._take("="):
            form, stated = form.plus(self._sum(), -1.0), True
        if self._next < len(self._tokens):
            raise self._error(f"has {self._tokens[self._next][1]!r} where it should end or have an operator")
        if form.plain:
            raise self._error("has no coefficient: its weights add up to 0, or all are of reference levels")
        if not (np.all(np.isfinite(form.weights)) and np.isfinite(form.constant)):
            raise self._error("has numbers that are not finite")
        return Combination(self._text.strip(), form.weights, -form.constant + 0.0, stated)

    def _sum(self) -> _Form:
        form = self._product()
        while sign := self._take("+", "-"):
            form = form.plus(self._product(), 1.0 if sign == "+" else -1.0)
        return form

    def _product(self) -> _Form:
        form = self._factor()
        while sign := self._take("*", "/"):
            factor = self._factor()
            if sign == "/":
                if not factor.plain or not factor.constant:
                    raise self._error("divides by something else than a number that is not 0")
                form = form.times(1 / factor.constant)
            elif factor.plain:
                form = form.times(factor.constant)
            elif form.plain:
                form = factor.times(form.constant)
            else:
                raise self._error("multiplies two coefficients")
        return form

    def _factor(self) -> _Form:
        if sign := self._take("+", "-"):
            return self._factor().times(1.0 if sign == "+" else -1.0)
        if self._take("("):
            form = self._sum()
            if not self._take(")"):
                raise self._error("has a parenthesis that does not end")
            return form
        kind, word = self._tokens[self._next] if self._next < len(self._tokens) else (_SIGN, "its end")
        if kind == _SIGN:
            raise self._error(f"has {word} where a name or a number should be")
        self._next += 1
        weights = np.zeros(self._size)
        if kind == _VALUE:
            if not math.isfinite(float(word)):
                raise self._error("has numbers that are not finite")
            return _Form(weights, float(word))
        place = self._place(word)
        if place is not None:
            weights[place] = 1.0
        return _Form(weights, 0.0)

    def _place(self, name: str) -> int | None:
        """Position of a coefficient; None for a reference level."""
        if name not in self._places:
            members = describe(list(self._blocks[name]))
            raise self._error(f"names {name}, which has several coefficients: {members}")
        return self._places[name]

    def _take(self, *signs: str) -> str:
        """The next token if it is one of these signs; else empty."""
        if self._next < len(self._tokens) and self._tokens[self._next] in [(_SIGN, sign) for sign in signs]:
            self._next += 1
            return self._tokens[self._next - 1][1]
        return ""

    def _scanned(self) -> Iterator[Token]:
        text, place = self._text, 0
        while place < len(text):
            if text[place].isspace():
                place += 1
                continue
            token, end = self._token(place)
            yield token
            place = end

    def _token(self, place: int) -> tuple[Token, int]:
        """The token at a place of the text, and where it ends."""
        text = self._text
        for name in self._longest:
            end = place + len(name)
            if text.startswith(name, place) and not self._inside_word(place, end):
                if name not in self._places and text[end : end + 1] == "=":  # a level that there is not
                    break
                return (_NAME, name), end
        if text[place] in _QUOTES:
            return self._quoted(place)
        if text[place] in _SIGNS:
            return (_SIGN, text[place]), place + 1
        if (number := _NUMBER.match(text, place)) and not self._inside_word(place, number.end()):
            return (_VALUE, number.group()), number.end()
        word = re.split(r"[\s+*/()-]", text[place:], maxsplit=1)[0] or text[place:]
        raise self._error(f"names {word}, which is no coefficient of the table", self._coefficients())

    def _quoted(self, place: int) -> tuple[Token, int]:
        quote = self._text[place]
        for name in self._longest:
            if self._text.startswith(f"{quote}{name}{quote}", place):
                return (_NAME, name), place + len(name) + 2
        word = self._text[place + 1 :].split(quote)[0]
        raise self._error(f"names {word}, which is no coefficient of the table", self._coefficients())

    def _inside_word(self, first: int, last: int) -> bool:
        """Whether the part of the text is one of a longer word."""
        return any(
            0 < edge < len(self._text)
            and all(letter.isalnum() or letter in "_." for letter in self._text[edge - 1 : edge + 1])
            for edge in (first, last)
        )

    def _coefficients(self) -> str:
        return f"Coefficients are {describe([name for name in self._places if name])}."

    def _error(self, problem: str, remedy: str = "Write it as 2*a - b = 3.") -> ValueError:
        names = "names of columns or " if self._parameter == "columns" else ""
        rule = f"must be {names}linear combinations of coefficients, and one {problem}"
        return ValueError(sentence(self._parameter, rule, self._text, remedy))
