"""The decorator that makes the constructor, limits and docstring of an estimator from its annotated options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from dplr._kit.keywords import suggests
from dplr._kit.options import documented
from dplr._kit.validation import real_number, sentence

T = TypeVar("T")


def option(default: float, least: float, largest: float) -> Any:
    """An option that is a number within limits."""
    return field(default=default, metadata={"limits": (least, largest)})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(option,))
def estimator(kind: type[T]) -> type[T]:
    """Make the constructor of an estimator from its annotated attributes and those of its bases.

    The constructor stores its arguments unchanged, as scikit-learn expects; `fit` checks them. Entries of options and
    attributes that the docstring lacks are taken from the bases.
    """
    made = dataclass(kw_only=True, eq=False, repr=False)(kind)
    setattr(made, "__init__", suggests(made.__init__))  # noqa: B010  mypy takes no assignment to a method
    return documented(made)


def limits_of(kind: Any) -> dict[str, tuple[float, float]]:
    return {each.name: each.metadata["limits"] for each in fields(kind) if "limits" in each.metadata}


def width_of(model: Any) -> float:
    value, (least, largest) = real_number("width", model.width), limits_of(model)["width"]
    if not least <= value <= largest:
        raise ValueError(sentence("width", f"must be between {least:g} and {largest:g}", value))
    return value
