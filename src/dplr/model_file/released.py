"""Released numbers and histories as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import describe
from dplr.fitting.ranges import BLOCKS
from dplr.fitting.run import History
from dplr.mechanisms import SHORTHANDS
from dplr.model_file.readers import anything, array, list_of, table, text
from dplr.model_file.strict_json import refuse
from dplr.privacy.statement import PrivacyStatement, Release

Part = Mapping[str, NDArray[np.float64]]

PART = list_of(table({"block": text, "numbers": anything}))
_PARTS = list_of(PART, 1)
_HISTORIES = list_of(table(dict.fromkeys(("coefs", "intercepts", "public_loss"), anything)), 1)


def write_parts(parts: Sequence[Part]) -> list[list[dict[str, Any]]]:
    """One list of blocks for each model, or one alone where all models come from one release."""
    releases = parts[:1] if all(part is parts[0] for part in parts) else parts
    return [write_part(part) for part in releases]


def write_part(part: Part) -> list[dict[str, Any]]:
    """The blocks of one model, or of the ranges."""
    return [{"block": name, "numbers": numbers.tolist()} for name, numbers in part.items()]


def read_parts(where: str, value: Any, statement: PrivacyStatement, models: int, shared: bool) -> list[Part]:
    """The released numbers of every model; `statement` is that of one model."""
    values = _PARTS(where, value)
    if len(values) != (1 if shared else models):
        refuse(where, f"must be {1 if shared else models} lists of blocks", values)
    parts = [_read_part(f"{where}[{k}]", part, statement) for k, part in enumerate(values)]
    return parts * models if shared else parts


def read_ranges(where: str, value: Any, statement: PrivacyStatement) -> Part:
    """The released numbers of the ranges that the statement is about; empty for none."""
    stated = {name: block for name, block in statement.released.items() if name in BLOCKS}
    if (value is None) is bool(stated):
        refuse(where, "must be given where the statement is about ranges, and be null else", value)
    return {} if value is None else read_blocks(where, PART(where, value), stated)


def write_histories(history: Any) -> list[dict[str, Any]] | None:
    """One history for each model, without the gradients: they are a released block."""
    if history is None:
        return None
    histories: list[History] = list(history.values()) if isinstance(history, dict) else [history]
    return [
        {
            "coefs": trace.coefs.tolist(),
            "intercepts": trace.intercepts.tolist(),
            "public_loss": None if trace.public_loss is None else trace.public_loss.tolist(),
        }
        for trace in histories
    ]


def read_histories(
    where: str, value: Any, parts: Sequence[Part], statement: PrivacyStatement, d: int
) -> list[History | None]:
    """The history of each model: one where a mechanism released steps, None elsewhere."""
    block = SHORTHANDS[statement.mechanism].steps_in
    if (value is not None) is not bool(block):
        refuse(where, "must be given for noisy gradient descent, and for nothing else", value)
    if value is None:
        return [None] * len(parts)
    values = _HISTORIES(where, value)
    if len(values) != len(parts):
        refuse(where, f"must be {len(parts)} histories", values)
    return [_read_history(f"{where}[{k}]", values[k], part[block], d) for k, part in enumerate(parts)]


def _read_part(where: str, value: list[dict[str, Any]], statement: PrivacyStatement) -> Part:
    """The numbers of every block that the statement is about, on its grid; the coefficients are not among them."""
    sums = SHORTHANDS[statement.mechanism].noise_in == "sums"
    stated = {name: block for name, block in statement.released.items() if sums or name != "coef"}
    return read_blocks(where, value, stated)


def read_blocks(where: str, value: list[dict[str, Any]], stated: Mapping[str, Release]) -> Part:
    """The numbers of the blocks that are stated, each of its shape and on its grid."""
    names = [part["block"] for part in value]
    if names != list(stated):
        refuse(where, f"must hold the blocks {describe(list(stated))}", str(names))
    released = {}
    for k, part in enumerate(value):
        block = stated[part["block"]]
        numbers = array(f"{where}[{k}].numbers", part["numbers"], block.shape)
        if block.grid == 0 or np.fmod(numbers, block.grid).any():
            refuse(f"{where}[{k}].numbers", f"must be multiples of the grid, {block.grid:g}", part["numbers"])
        released[part["block"]] = numbers
    return released


def _read_history(where: str, value: dict[str, Any], gradients: NDArray[np.float64], d: int) -> History:
    points, loss = len(gradients) + 1, value["public_loss"]
    return History(
        gradients,
        array(f"{where}.coefs", value["coefs"], (points, d)),
        array(f"{where}.intercepts", value["intercepts"], (points,)),
        None if loss is None else array(f"{where}.public_loss", loss, (points,)),
    )
