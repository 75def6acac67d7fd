"""The functions that called a fit: those of scikit-learn, and of other estimators that are built on it.

An estimator cannot ask scikit-learn which client calls it: neither tags nor metadata routing name the client. So we
read the frames of the call stack, once for each fit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from sklearn.base import BaseEstimator

# Subpackages of scikit-learn that fit nothing themselves: clone, tags, validation, workers.
_PLUMBING = frozenset({"base", "utils", "_config"})


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """A function that called a fit.

    `subpackage` is that of scikit-learn that it belongs to, such as "ensemble", and empty outside scikit-learn;
    `owner` the type of the estimator whose method it is, if it is one.
    """

    name: str
    subpackage: str
    owner: type[Any] | None
    variables: Mapping[str, Any]

    @property
    def function(self) -> str:
        """The name of the function, or of the function that it is defined in."""
        return self.name.partition(".<locals>")[0]

    @property
    def place(self) -> str:
        """The function and its subpackage."""
        return f"{self.subpackage}.{self.function}"

    @property
    def client(self) -> str:
        """The estimator or function that a user would call it by."""
        return self.function if self.owner is None else self.owner.__name__


Callers = tuple[Caller, ...]


def call_stack() -> Callers:
    """The callers of our caller, innermost first."""
    frame: FrameType | None = sys._getframe(2)
    stack = []
    while frame is not None:
        package, _, rest = str(frame.f_globals.get("__name__")).partition(".")
        if package == "sklearn" and rest:
            subpackage = rest.partition(".")[0]
            if subpackage not in _PLUMBING:
                stack.append(Caller(frame.f_code.co_qualname, subpackage, _owner(frame), frame.f_locals))
        elif package != "dplr":
            owner = _owner(frame)
            if owner is not None and not is_ours(owner):
                stack.append(Caller(frame.f_code.co_qualname, "", owner, frame.f_locals))
        frame = frame.f_back
    return tuple(stack)


def given_to(callers: Callers) -> Iterator[dict[str, Any]]:
    """The rows that clients of scikit-learn were given, and what lies beside them: a step may lose their index."""
    for caller in callers:
        if caller.subpackage and "X" in caller.variables:
            found, params = caller.variables, caller.variables.get("params")
            yield {"X": found["X"], "y": found.get("y"), **(params if isinstance(params, dict) else {})}


def is_cut(callers: Callers) -> bool:
    """Whether a client in another process or thread called the outermost caller, which nobody calls by hand."""
    if not callers:
        return False
    outermost = callers[-1]
    return outermost.name != outermost.function or (outermost.owner is None and outermost.name.startswith("_"))


def is_ours(kind: type[Any]) -> bool:
    """Whether a type is of dplr, or made of one."""
    return any(is_of_dplr(base) for base in kind.__mro__)


def is_of_dplr(kind: type[Any]) -> bool:
    """Whether a type is of dplr itself."""
    return kind.__module__.partition(".")[0] == "dplr"


def is_of_sklearn(kind: type[Any]) -> bool:
    """Whether a type is of scikit-learn itself."""
    return kind.__module__.partition(".")[0] == "sklearn"


def _owner(frame: FrameType) -> type[Any] | None:
    """The type of the estimator whose method a frame runs, or of the method that a function lies in."""
    code = frame.f_code
    if "self" not in code.co_varnames[: min(code.co_argcount, 1)] and "self" not in code.co_freevars:
        return None
    kind = type(frame.f_locals.get("self"))
    return kind if issubclass(kind, BaseEstimator) else None
