"""Files of models of moments: the released moments, and the recipe from which the model is computed anew."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dplr._kit.files import checked_name, write_whole
from dplr.bounds.declared import MAX_FEATURES
from dplr.model_file.file import MOMENT_MODEL
from dplr.model_file.readers import anything, list_of, table, text
from dplr.model_file.strict_json import MOST_BYTES, canonical, refuse
from dplr.moments.file import released_of, values_of

if TYPE_CHECKING:
    from dplr.moments.model import MomentModel

_FILE = MOMENT_MODEL
_FIELDS = table({"moments": anything, "recipe": anything})
_RECIPE = table(
    {
        "kind": text,
        "target": text,
        "level": anything,
        "columns": list_of(anything, 1, MAX_FEATURES),
        "l2": anything,
        "variances": text,
    }
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The question that a model answers.

    Attributes
    ----------
    kind : "regress" or "probability".
    target : name of a declared column.
    level : of it; None for numbers.
    columns : names, and pairs of names for products.
    l2, variances : as in `ReleasedMoments.regress`.
    """

    kind: str
    target: str
    level: Any
    columns: tuple[str | tuple[str, str], ...]
    l2: float | str
    variances: str

    def values(self) -> dict[str, Any]:
        """The recipe as it is written."""
        columns = [entry if isinstance(entry, str) else list(entry) for entry in self.columns]
        return {
            "kind": self.kind, "target": self.target, "level": self.level, "columns": columns, "l2": self.l2,
            "variances": self.variances,
        }  # fmt: skip


def save(model: MomentModel, path: str | os.PathLike[str]) -> None:
    """Write a file, which is read back and compared before it appears."""
    target = os.path.realpath(checked_name("path", path))
    _FILE.check_replaceable(target)
    data = _FILE.text(_values(model))
    if len(data) > MOST_BYTES:
        refuse("model", f"must fit into {MOST_BYTES >> 20} MiB", f"{len(data) >> 20} MiB", "Use fewer columns.")
    decoded(data)
    write_whole(target, data)


def decoded(data: bytes) -> MomentModel:
    """The model of a file: every field is checked, and the model computed from the moments."""
    fields, plain = _FILE.fields(data)
    values = _FIELDS("model", fields)
    recipe = _RECIPE("model.recipe", values["recipe"])
    released = released_of(values["moments"], canonical(values["moments"]))
    columns = [tuple(entry) if isinstance(entry, list) else entry for entry in recipe["columns"]]
    options = {"l2": recipe["l2"], "variances": recipe["variances"]}
    try:
        if recipe["kind"] == "regress":
            model = released.regress(recipe["target"], columns, **options)
        elif recipe["kind"] == "probability":
            model = released.probability(recipe["target"], columns, level=recipe["level"], **options)
        else:
            refuse("model.recipe.kind", 'must be "regress" or "probability"', recipe["kind"])
    except (ValueError, TypeError) as error:
        refuse("model.recipe", "must be of a model of these moments", str(error))
    if canonical(_values(model)) != plain:
        refuse("model", "must be written as dplr writes it", "another spelling of some field")
    return model


def _values(model: MomentModel) -> dict[str, Any]:
    return {"moments": values_of(model.released), "recipe": model.recipe.values()}
