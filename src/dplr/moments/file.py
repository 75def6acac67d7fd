"""Files of released moments: JSON with a hash, read with every rule checked. The format is in docs/use/moments.md."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.files import checked_name, write_whole
from dplr.bounds.declared import MAX_FEATURES, Bounds
from dplr.bounds.layout import Layout
from dplr.fitting.planning import rows_sentence
from dplr.model_file.bounds import read_bounds, write_bounds
from dplr.model_file.file import MOMENTS
from dplr.model_file.readers import anything, either, integer, list_of, table, text
from dplr.model_file.released import PART, read_blocks, write_part
from dplr.model_file.statement import read_statement, write_statement
from dplr.model_file.strict_json import MOST_BYTES, canonical, digest, refuse
from dplr.moments import ABOUT
from dplr.moments.law import cells, covers
from dplr.moments.merging import check_different
from dplr.moments.released import Party, ReleasedMoments, scaled_problem
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.geometry import Geometry

_FILE = MOMENTS
_DIGITS = 64
_PARTY = table(
    {
        "name": either(None, text),
        "n_rows": either(None, integer(1, 2**63)),
        "release": text,
        "statement": lambda where, value: read_statement(where, value, {ABOUT.name: ABOUT}),
    }
)
_FIELDS = table(
    {
        "bounds": read_bounds,
        "columns": list_of(text, 1, MAX_FEATURES),
        "parties": list_of(_PARTY, 1, 2**20),
        "released": anything,
    }
)


def save(released: ReleasedMoments, path: str | os.PathLike[str]) -> None:
    """Write a file, which is read back and compared before it appears."""
    target = os.path.realpath(checked_name("path", path))
    check_replaceable(target)
    data = text_of(released)
    if len(data) > MOST_BYTES:
        refuse("released", f"must fit into {MOST_BYTES >> 20} MiB", f"{len(data) >> 20} MiB", "Use fewer columns.")
    decoded(data)
    write_whole(target, data)


def text_of(released: ReleasedMoments) -> bytes:
    """The content of the file."""
    return _FILE.text(values_of(released))


def check_replaceable(target: str) -> None:
    """A file of moments and an empty file may be replaced; nothing else."""
    _FILE.check_replaceable(target)


def digest_of(bounds: Bounds, layout: Layout, party: Party, numbers: Mapping[str, NDArray[np.float64]]) -> str:
    """The digest that tells one release from all others, by its numbers and what they are about. Names may change."""
    values = {
        "bounds": write_bounds(bounds),
        "columns": list(layout.features),
        "n_rows": party.n_rows,
        "statement": write_statement(party.statement),
        "released": write_part(numbers),
    }
    return digest(values)


def values_of(released: ReleasedMoments) -> dict[str, Any]:
    """The fields of the file."""
    return {
        "bounds": write_bounds(released.bounds),
        "columns": list(released.layout.features),
        "parties": [
            {
                "name": party.name,
                "n_rows": party.n_rows,
                "release": party.digest,
                "statement": write_statement(party.statement),
            }
            for party in released.parties
        ],
        "released": write_part(released.released_),
    }


def decoded(data: bytes) -> ReleasedMoments:
    """The head and the hash first, then the fields."""
    return released_of(*_FILE.fields(data))


def released_of(fields: Any, plain: bytes) -> ReleasedMoments:
    """The moments of these fields, whose canonical text is `plain`: every field, then how they fit each other."""
    values = _FIELDS("moments", fields)
    bounds, columns = values["bounds"], values["columns"]
    layout = _layout("moments", bounds, columns)
    parties = tuple(
        Party(entry["name"], entry["n_rows"], entry["statement"], entry["release"]) for entry in values["parties"]
    )
    relation = parties[0].statement.neighbouring
    try:
        check_different(parties)
    except ValueError:
        refuse("moments.parties", "must be different releases, of different names", "one of them twice")
    try:
        geometry = scaled_problem(layout, relation, None).geometry
    except (ValueError, OverflowError) as error:
        refuse("moments.bounds", "must keep the rules of bounds", str(error))
    for k, party in enumerate(parties):
        _check_party(f"moments.parties[{k}]", party, layout, geometry, relation)
    numbers = _numbers(values["released"], [party.statement for party in parties])
    if len(parties) == 1 and parties[0].digest != digest_of(bounds, layout, parties[0], numbers):
        refuse("moments.parties[0].release", "must be the digest of what was released", parties[0].digest)
    released = ReleasedMoments(bounds, layout, relation, numbers, parties)
    if canonical(values_of(released)) != plain:
        refuse("moments", "must be written as dplr writes it", "another spelling of some field")
    return released


def _layout(where: str, bounds: Bounds | None, columns: list[str]) -> Layout:
    """The columns that bounds have, under the names of the table where the bounds have none."""
    if bounds is None:
        refuse(f"{where}.bounds", "is required", bounds)
    if bounds.to_dict().get("target") is not None:
        refuse(f"{where}.bounds", "must have no target of its own", "a target")
    layout = bounds.layout
    if len(columns) != len(layout.features) or len(set(columns)) < len(columns):
        refuse(f"{where}.columns", f"must be {len(layout.features)} different names", columns)
    if layout.named and tuple(columns) != layout.features:
        refuse(f"{where}.columns", "must be the names in the bounds", columns)
    try:
        return bounds.for_columns(columns, len(columns))
    except ValueError as error:
        refuse(f"{where}.columns", "must keep the rules of bounds", str(error))


def _check_party(where: str, party: Party, layout: Layout, geometry: Geometry, relation: Neighbouring) -> None:
    """A statement is about these columns and rows, and its noise is as large as it says that it must be."""
    statement = party.statement
    if statement.neighbouring != relation:
        refuse(f"{where}.statement.neighbouring", f"must be {relation}, as that of the first party", "another relation")
    if relation is Neighbouring.REPLACE_ONE and party.n_rows is None:
        refuse(f"{where}.n_rows", "is required under replace_one", None)
    _check_facts(where, party, list(layout.facts()))
    sizes = [(name, (len(rows),)) for name, (rows, _) in cells(geometry, relation).items()]
    if [(name, block.shape) for name, block in statement.released.items()] != sizes:
        refuse(f"{where}.statement.released", f"must be about the blocks {sizes}", str(list(statement.released)))
    if not covers(statement, geometry):
        rule = "must have the weights, the sensitivity and the noise that its eps and delta need"
        refuse(f"{where}.statement.released", rule, str(statement.guarantee))
    if len(party.digest) != _DIGITS or set(party.digest) - set("0123456789abcdef"):
        refuse(f"{where}.release", f"must be {_DIGITS} hexadecimal digits", party.digest)


def _check_facts(where: str, party: Party, needed: list[str]) -> None:
    """Refuse a statement without the assumptions about the columns, and the rows, of the file."""
    if party.n_rows is not None:
        needed.append(rows_sentence(party.n_rows, party.statement.neighbouring))
    missing = [fact for fact in needed if fact not in party.statement.assumptions]
    if missing:
        refuse(f"{where}.statement.assumptions", "must name the columns and the number of records", missing[0])


def _numbers(value: Any, statements: Sequence[PrivacyStatement]) -> dict[str, NDArray[np.float64]]:
    """The released numbers: multiples of the finest grid of all parties."""
    first = statements[0]
    grids = {name: min(statement.released[name].grid for statement in statements) for name in first.released}
    stated = {name: replace(block, grid=grids[name]) for name, block in first.released.items()}
    blocks = read_blocks("moments.released", PART("moments.released", value), stated)
    return dict(blocks)
