"""A bounds file to be filled in: the names of columns, and no value."""

from __future__ import annotations

from collections.abc import Mapping

from dplr.bounds.toml import key_of

NUMBER, TEXT, UNKNOWN = "number", "text", "unknown"
_HEAD = """\
# What is public about each column. Fill it in from a codebook, or from what everybody knows: never from the data.
# Take the # away from the lines that you fill in, and delete the tables of columns that the model shall not use.
# Optional in every table: missing = "indicator" (or a number, or a level), else missing values are refused.
"""
_AS_NUMBER = ("# lower =", "# upper =")
_AS_LEVELS = ("# levels = []",)
_LINES = {NUMBER: _AS_NUMBER, TEXT: _AS_LEVELS, UNKNOWN: (*_AS_NUMBER, "# or, for text or codes:", *_AS_LEVELS)}
_TARGET = {
    NUMBER: ("# for linear models:", *_AS_NUMBER, "# or, for labels:", "# classes = [0, 1]", "# or: threshold ="),
    TEXT: ("# classes = []",),
}


def skeleton(columns: Mapping[str, str], target: str | None = None) -> str:
    """TOML of a bounds file without a single bound: `Bounds.from_toml` refuses it until it is filled in.

    Parameters
    ----------
    columns : name -> "number", "text" or "unknown", from the types that the columns declare.
    target : the column that is to be predicted; it becomes the table [target].
    """
    lines = [_HEAD]
    for name, kind in columns.items():
        if name != target:
            lines += [f"[features.{key_of(name)}]", *_LINES[kind], ""]
    if target is not None:
        kind = columns[target]
        lines += ["[target]", *_TARGET.get(kind, _TARGET[NUMBER]), ""]
    return "\n".join(lines)
