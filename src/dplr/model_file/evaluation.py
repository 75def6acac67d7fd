"""The evaluation that a fit released beside its model, as plain values and back."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

from dplr.evaluation.grids import ClassGrid, ErrorGrid, ScoreGrid
from dplr.evaluation.law import ABOUT, beside, is_counted
from dplr.evaluation.release import EVALUATIONS
from dplr.evaluation.scorer import scorer_of
from dplr.evaluation.value import Evaluation
from dplr.model_file.readers import Reader, choice, either, flag, integer, list_of, number, table
from dplr.model_file.released import PART, read_blocks, write_part
from dplr.model_file.statement import plain, read_statement, write_statement
from dplr.model_file.strict_json import refuse
from dplr.privacy.guarantees import Neighbouring, Poisson
from dplr.privacy.statement import EVALUATION, PrivacyStatement

_EDGES = list_of(number(-1.0, 1.0), 0, 64)
_GRIDS: dict[str, tuple[Any, dict[str, Reader]]] = {
    "scores": (ScoreGrid, {"edges": _EDGES}),
    "classes": (ClassGrid, {"classes": integer(2, 2**20), "edges": _EDGES, "probabilities": flag}),
    "errors": (ErrorGrid, {"low": number(), "high": number(), "edges": _EDGES}),
}
_FIELDS = {
    "grid": lambda where, value: _read_grid(where, value),
    "n_rows": either(None, integer(1, 2**63)),
    "statement": lambda where, value: read_statement(where, value, {ABOUT.name: ABOUT}),
    "released": PART,
}


def read_evaluation(where: str, value: Any) -> dict[str, Any]:
    """The fields of `write_evaluation`, each by itself."""
    fields: dict[str, Any] = table(_FIELDS)(where, value)
    return fields


def write_evaluation(fitted: Any) -> dict[str, Any]:
    """The key of a file that has an evaluation, and its plain values; nothing where no fit released one."""
    one: Evaluation | None = getattr(fitted, "evaluation_", None)
    if one is None or not blocks_of(fitted.privacy_):
        return {}
    kind = next(name for name, (grid, _) in _GRIDS.items() if type(one.grid) is grid)
    fields = {field.name: plain(getattr(one.grid, field.name)) for field in dataclasses.fields(one.grid)}
    return {
        "evaluation": {
            "grid": {"kind": kind} | fields,
            "n_rows": one.n_rows,
            "statement": write_statement(one.privacy_),
            "released": write_part(one.released_),
        }
    }


def blocks_of(statement: PrivacyStatement) -> dict[str, Any]:
    """The blocks of an evaluation that a statement is about, by their own names; empty for none."""
    named = statement.released.items()
    return {name.removeprefix(EVALUATION): block for name, block in named if name.startswith(EVALUATION)}


def evaluation_of(fields: dict[str, Any], fitted: Any, statement: PrivacyStatement) -> Evaluation:
    """The evaluation, whose fields fit each other, the model, and the statement of both."""
    where, grid, own = "model.evaluation", fields["grid"], fields["statement"]
    names = tuple(fitted._labels.tolist()) if hasattr(fitted, "classes_") else ()
    _check_grid(f"{where}.grid", grid, scorer_of(fitted, None, None, False).grid(len(names), 1.0, 1.0, ()))
    counted, replaced = is_counted(own.neighbouring, own.unit), own.neighbouring is Neighbouring.REPLACE_ONE
    blocks = grid.blocks(counted)
    needed, stated = grid.sensitivity(replaced, counted), list(own.released.items())
    fits = [(name, block.shape) for name, block in stated] == [(name, (size,)) for name, (size, _) in blocks.items()]
    if not fits or any(b.scale and (b.sensitivity < needed or b.weight != blocks[name][1]) for name, b in stated):
        refuse(f"{where}.statement.released", "must be about the blocks of the grid", str(list(own.released)))
    unit = dataclasses.replace(statement.unit, class_weights=())
    facts = [(each.neighbouring, each.reproducible, each.version) for each in (own, statement)]
    if own.released != blocks_of(statement) or facts[0] != facts[1] or own.unit != unit:
        refuse(f"{where}.statement", "must be of the release of the model", str(list(own.released)))
    if isinstance(statement.guarantee, Poisson) or not _near(own.eps, beside(statement.guarantee)):
        refuse(f"{where}.statement.eps", "must be that of the model's guarantee", own.eps)
    if replaced and fields["n_rows"] is None:
        refuse(f"{where}.n_rows", "is required under replace_one", None)
    numbers = read_blocks(f"{where}.released", fields["released"], own.released)
    return EVALUATIONS[type(grid)](grid, numbers, own, fields["n_rows"], names)


def _near(value: float, stated: float) -> bool:
    return value == stated or math.isclose(value, stated, rel_tol=1e-9)


def _read_grid(where: str, value: Any) -> Any:
    kind, fields = _GRIDS[choice(*_GRIDS)(f"{where}.kind", value.get("kind") if isinstance(value, dict) else None)]
    values = table({"kind": choice(*_GRIDS), **fields})(where, value)
    del values["kind"]
    edges = values["edges"] = tuple(values["edges"])
    if not all(low < high for low, high in itertools.pairwise(edges)):
        refuse(f"{where}.edges", "must rise", list(edges))
    return kind(**values)


def _check_grid(where: str, grid: Any, usual: Any) -> None:
    """The cells are those of the model's answers, such as the usual ones; edges of scores depend on eps and rows."""
    fits = type(grid) is type(usual) and dataclasses.replace(usual, edges=grid.edges) == grid
    if isinstance(grid, ErrorGrid):
        fits = grid == usual
    elif fits and usual.edges:
        low = 0.0 if isinstance(grid, ScoreGrid) else 1 / grid.classes
        fits = len(grid.edges) > 0 and low < grid.edges[0] and grid.edges[-1] < 1
        fits = fits and (0.5 in grid.edges or not isinstance(grid, ScoreGrid))
    if not fits:
        refuse(where, "must be of answers of the model", str(grid))
