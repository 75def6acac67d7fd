"""A bounds file to be filled in: the names of columns, and their value labels in comments, but no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dplr.bounds.toml import key_of, value_of

NUMBER, TEXT, UNKNOWN = "number", "text", "unknown"
_HEAD = """\
# What is public about each column. Fill it in from a codebook, or from what everybody knows: never from the data.
# Take the # away from the lines that you fill in, and delete the tables of columns that the model shall not use.
# Optional in every table: missing = "indicator" (or a number, or a level), else missing values are refused.
"""
_AS_NUMBER = ("# lower =", "# upper =")
_AS_LEVELS = ("# levels = []",)
_CLASSES = "# classes = "
_CONFIRM = "# The list below has the value labels of the file. Confirm that they are public, as in a codebook."
_LINES = {NUMBER: _AS_NUMBER, TEXT: _AS_LEVELS, UNKNOWN: (*_AS_NUMBER, "# or, for text or codes:", *_AS_LEVELS)}
_TARGET = {
    NUMBER: ("# for linear models:", *_AS_NUMBER, "# or, for labels:", "# classes = [0, 1]", "# or: threshold ="),
    TEXT: ("# classes = []",),
}


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
    offered = labels or {}
    lines = [_HEAD]
    for name, kind in columns.items():
        if name != target:
            lines += [f"[features.{key_of(name)}]", *_offering(_LINES[kind], offered.get(name, ())), ""]
    if target is not None:
        kind = columns[target]
        lines += ["[target]", *_offering(_TARGET.get(kind, _TARGET[NUMBER]), offered.get(target, ())), ""]
    return "\n".join(lines)


def _offering(lines: Sequence[str], labels: Sequence[str]) -> list[str]:
    """The lines, with the labels in place of the list of levels or classes."""
    written: list[str] = []
    for line in lines:
        if labels and line.startswith((*_AS_LEVELS, _CLASSES)):
            written += [_CONFIRM, f"{line.partition('[')[0]}{value_of(labels)}"]
        else:
            written.append(line)
    return written
