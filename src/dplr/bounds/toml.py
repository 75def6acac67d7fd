"""Bounds as plain values and as TOML: the target, reading a file with errors that name the place, and writing one."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from dplr._kit.validation import is_listed, sentence
from dplr.bounds.beside import LEARNED, UNIT_KEYS
from dplr.bounds.columns import check_keys, read_column, read_levels, read_number, require

Target = tuple[str, tuple[Any, ...]]

KEYS = ("features", "target", "products", *UNIT_KEYS, LEARNED)
_TARGET_KEYS = ("classes", "lower", "upper", "threshold")


def read_target(target: Any) -> Target:
    """Kind ("pair", "classes", "range" or "threshold") and values of a declared target."""
    if isinstance(target, Mapping):
        try:
            return _read_table(target)
        except (ValueError, TypeError) as error:
            raise type(error)(f"Target: {error}") from None
    two = is_listed(target) and len(target) >= 2
    require(two, "bounds", "must have a pair as target, or more labels", target)
    kind, key = ("pair", "target") if len(target) == 2 else ("classes", "classes")
    return kind, read_levels(key, target)


def _read_table(table: Mapping[str, Any]) -> Target:
    check_keys(table, _TARGET_KEYS)
    keys = [key for key in _TARGET_KEYS if key in table]
    if keys == ["classes"]:
        return "classes", read_levels("classes", table["classes"])
    if keys == ["threshold"]:
        return "threshold", (read_number("threshold", table["threshold"]),)
    remedy = "Give classes, or lower and upper, or threshold."
    require(keys == ["lower", "upper"], "target", "must have one of its forms", keys or list(table), remedy)
    column: Any = read_column("target", table)
    return "range", (column.lower, column.upper)


def write_target(kind: str, values: tuple[Any, ...]) -> Any:
    match kind:
        case "pair":
            return list(values)
        case "classes":
            return {"classes": list(values)}
        case "range":
            return {"lower": values[0], "upper": values[1]}
        case _:
            return {"threshold": values[0]}


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        rule, remedy = "must be the path of a file that exists", "`dplr bounds init` writes a file to fill in."
        raise FileNotFoundError(sentence("bounds", rule, str(path), remedy)) from None
    except (ValueError, RecursionError) as error:  # of the text's encoding, its syntax, its numbers, its nesting
        raise ValueError(sentence(str(path), "must be a TOML file", str(error) or type(error).__name__)) from None


def check_file(values: Mapping[str, Any]) -> None:
    """Look at every table by itself, so that an error can name it."""
    check_keys(values, KEYS)
    features = values.get("features")
    remedy = "Write a table [features.NAME] for each column."
    filled = isinstance(features, (dict, list)) and len(features) > 0
    require(filled, "features", "must hold at least one table", features, remedy)
    for name, table in features.items() if isinstance(features, dict) else enumerate(features or ()):
        remedy = f"Write [features.{name}] with lower and upper, or levels."
        require(isinstance(table, dict), f"features.{name}", "must be a table", table, remedy, TypeError)
        read_column(f"table [features.{name}]", table)
    if "target" in values:
        read_target(values["target"])


def write_file(values: Mapping[str, Any]) -> str:
    """TOML of what `Bounds.to_dict` returns: single values first, then tables."""
    features, target = values["features"], values.get("target")
    top = {key: values[key] for key in UNIT_KEYS if key in values}
    blocks = [[f"products = {value_of(values['products'])}"]] if "products" in values else []
    if target is not None and not isinstance(target, Mapping):
        blocks.append([f"target = {value_of(target)}"])
    blocks += [_entries(top)] if top else []
    named = features.items() if isinstance(features, Mapping) else ((None, table) for table in features)
    for name, table in named:
        blocks.append(["[[features]]" if name is None else f"[features.{key_of(name)}]", *_entries(table)])
    for key in ("target", LEARNED):
        if isinstance(values.get(key), Mapping):
            blocks.append([f"[{key}]", *_entries(values[key])])
    return "\n".join(line for block in blocks for line in (*block, ""))


def _entries(table: Mapping[str, Any]) -> list[str]:
    return [f"{key_of(key)} = {value_of(value)}" for key, value in table.items()]


def key_of(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value_of(name)


def value_of(value: Any) -> str:
    """A value of TOML."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_of, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_entries(value))} }}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return ("true" if value else "false") if isinstance(value, bool) else repr(value)


# A file to be filled in: the names of columns, and their value labels in comments, but no value.
_HEAD = """\
# What is public about each column. Fill it in from a codebook, or from what everybody knows: never from the data.
# Take the # away from the lines that you fill in, and delete the tables of columns that the model shall not use.
# Optional in every table: missing = "indicator" (or a number, or a level), else missing values are refused.
"""
_CONFIRM = "# The list below has the value labels of the file. Confirm that they are public, as in a codebook."
_AS_NUMBER = ("# lower =", "# upper =")
_LINES = {
    "number": _AS_NUMBER,
    "text": ("# levels = []",),
    "unknown": (*_AS_NUMBER, "# or, for text or codes:", "# levels = []"),
}
_TARGET = ("# for linear models:", *_AS_NUMBER, "# or, for labels:", "# classes = [0, 1]", "# or: threshold =")
_TARGET_LINES = {"number": _TARGET, "text": ("# classes = []",), "unknown": _TARGET}


def skeleton(
    columns: Mapping[str, str], target: str | None = None, labels: Mapping[str, Sequence[str]] | None = None
) -> str:
    """TOML of a bounds file without a single bound: `Bounds.from_toml` refuses it until it is filled in.

    Parameters
    ----------
    columns : name -> "number", "text" or "unknown", from the types that the columns declare.
    target : the column that is to be predicted; it becomes the table [target].
    labels : name -> value labels from the dictionary of a file, which become comments.
    """
    tables = [(name, f"[features.{key_of(name)}]", _LINES) for name in columns if name != target]
    lines = [_HEAD]
    for name, head, offered in tables if target is None else [*tables, (target, "[target]", _TARGET_LINES)]:
        lines.append(head)
        for line in offered[columns[name]]:
            if (known := (labels or {}).get(name)) and line.startswith(("# levels = ", "# classes = ")):
                lines += [_CONFIRM, f"{line.partition('[')[0]}{value_of(known)}"]
            else:
                lines.append(line)
        lines.append("")
    return "\n".join(lines)
