"""Bounds as plain values and as TOML: the target, reading a file with errors that name the place, and writing one."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from dplr._kit.validation import is_listed, sentence
from dplr.bounds import provenance, units
from dplr.bounds.columns import Column, Numeric, check_keys, read_column, read_levels, read_number, write_column

Target = tuple[str, tuple[Any, ...]]

KEYS = ("features", "target", "products", *units.KEYS, provenance.KEY)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TARGET_KEYS = ("classes", "lower", "upper", "threshold")
_FORMS = "Give classes, or lower and upper, or threshold."


def read_target(target: Any) -> Target:
    """Kind ("pair", "classes", "range" or "threshold") and values of a declared target."""
    if not isinstance(target, Mapping):
        is_sequence = is_listed(target)
        if not is_sequence or len(target) < 2:
            raise ValueError(sentence("bounds", "must have a pair as target, or more labels", target))
        if len(target) > 2:
            return "classes", read_levels("classes", target)
        return "pair", read_levels("target", target)
    try:
        return _read_table(target)
    except (ValueError, TypeError) as error:
        raise type(error)(f"Target: {error}") from None


def write_target(kind: str, values: tuple[Any, ...]) -> Any:
    """The text that `read_target` reads back."""
    match kind:
        case "pair":
            return list(values)
        case "classes":
            return {"classes": list(values)}
        case "range":
            return {"lower": values[0], "upper": values[1]}
        case _:
            return {"threshold": values[0]}


def shown(column: Column) -> Any:
    """The shortest value that describes the column."""
    if isinstance(column, Numeric) and column.plain:
        return (0, 1) if column.flag else (column.lower, column.upper)
    return write_column(column)


_INIT = "`dplr bounds init` writes a file to fill in."


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The checked tables of a bounds file."""
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        message = sentence("bounds", "must be the path of a file that exists", str(path), _INIT)
        raise FileNotFoundError(message) from None
    except (ValueError, RecursionError) as error:  # of the text's encoding, its syntax, its numbers, its nesting
        raise ValueError(sentence(str(path), "must be a TOML file", str(error) or type(error).__name__)) from None
    try:
        _check(values)
    except (ValueError, TypeError) as error:
        raise type(error)(f"`{path}`: {error}") from None
    return values


def write_file(values: Mapping[str, Any]) -> str:
    """TOML of what `Bounds.to_dict` returns."""
    target, features, products = values.get("target"), values["features"], values.get("products")
    lines = [f"products = {value_of(products)}", ""] if products else []
    if target is not None and not isinstance(target, Mapping):
        lines += [f"target = {value_of(target)}", ""]
    declared = {key: values[key] for key in units.KEYS if key in values}
    lines += [*_entries(declared), ""] if declared else []
    if isinstance(features, Mapping):
        for name, table in features.items():
            lines += [f"[features.{key_of(name)}]", *_entries(table), ""]
    else:
        for table in features:
            lines += ["[[features]]", *_entries(table), ""]
    if isinstance(target, Mapping):
        lines += ["[target]", *_entries(target), ""]
    if provenance.KEY in values:
        lines += [f"[{provenance.KEY}]", *_entries(values[provenance.KEY]), ""]
    return "\n".join(lines)


def _read_table(table: Mapping[str, Any]) -> Target:
    check_keys(table, _TARGET_KEYS)
    keys = [key for key in _TARGET_KEYS if key in table]
    if keys == ["classes"]:
        return "classes", read_levels("classes", table["classes"])
    if keys == ["threshold"]:
        return "threshold", (read_number("threshold", table["threshold"]),)
    if keys == ["lower", "upper"]:
        column = read_column("target", {"lower": table["lower"], "upper": table["upper"]})
        assert isinstance(column, Numeric)
        return "range", (column.lower, column.upper)
    raise ValueError(sentence("target", "must have one of its forms", keys or list(table), _FORMS))


def _check(values: dict[str, Any]) -> None:
    """Every table by itself, so that an error can name it."""
    check_keys(values, KEYS)
    features = values.get("features")
    if not isinstance(features, (dict, list)) or not features:
        remedy = "Write a table [features.NAME] for each column."
        raise ValueError(sentence("features", "must hold at least one table", features, remedy))
    named = features.items() if isinstance(features, dict) else enumerate(features)
    for name, table in named:
        if not isinstance(table, dict):
            remedy = f"Write [features.{name}] with lower and upper, or levels."
            raise TypeError(sentence(f"features.{name}", "must be a table", table, remedy))
        read_column(f"table [features.{name}]", table)
    if "target" in values:
        read_target(values["target"])


def _entries(table: Mapping[str, Any]) -> list[str]:
    return [f"{key_of(key)} = {value_of(value)}" for key, value in table.items()]


def key_of(name: str) -> str:
    """A name as a key of TOML."""
    return name if _BARE_KEY.fullmatch(name) else value_of(name)


def value_of(value: Any) -> str:
    """A value of TOML."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(value_of(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_entries(value))} }}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return ("true" if value else "false") if isinstance(value, bool) else repr(value)
