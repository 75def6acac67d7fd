"""Bounds, features of a kernel and labels as plain values and back; columns in lists: keys have no order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.beside import LEARNED, UNIT_KEYS, read_units
from dplr.bounds.declared import MAX_FEATURES, Bounds
from dplr.bounds.fourier import KERNELS, MOST_PAIRS, SEEDS, FourierMap
from dplr.model_file.readers import choice, either, integer, label, label_list, list_of, number, table, text
from dplr.model_file.statement import plain
from dplr.model_file.strict_json import refuse
from dplr.rows import declared_classes

_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "str", "object",
)  # fmt: skip


def _weight(where: str, value: Any) -> dict[str, Any]:
    """The number to which weights are clipped, and their column where it has a name."""
    column = {"column": text} if isinstance(value, dict) and "column" in value else {}
    values: dict[str, Any] = table(column | {"max": number(0.0, above=True)})(where, value)
    return values


_PRODUCTS = list_of(label_list(2, 2), 1)
_UNITS = {
    "person": text,
    "rows_per_person": integer(2, 2**20),
    "weight": _weight,
}
_LEARNED = {
    LEARNED: table(
        {
            "columns": list_of(text, 1),
            "eps": number(0.0, above=True),
            "delta": number(0.0),
            "neighbouring": choice("replace_one", "add_remove"),
            "unit": choice("record", "person"),
            "outside": number(0.0, above=True),
        }
    )
}
_CLASSES = table({"type": choice(*_TYPES), "labels": label_list(2)})


def write_bounds(bounds: Bounds | None) -> dict[str, Any] | None:
    """Plain values of bounds: `Bounds.to_dict` with the columns in a list."""
    if bounds is None:
        return None
    values = bounds.to_dict()
    columns = values["features"]
    if bounds.names is not None:
        columns = [{"name": name} | column for name, column in columns.items()]
    products = {"products": values["products"]} if bounds.products else {}
    units = {key: values[key] for key in UNIT_KEYS if key in values}
    learned = {LEARNED: values[LEARNED]} if LEARNED in values else {}
    return {"columns": columns, "target": _plain_target(values.get("target"))} | products | units | learned


def read_bounds(where: str, value: Any) -> Bounds | None:
    """The bounds that `write_bounds` wrote."""
    if value is None:
        return None
    fields = {"columns": list_of(_column, 1), "target": _target}
    if isinstance(value, dict) and "products" in value:  # a file without products has no such key
        fields["products"] = _PRODUCTS
    fields |= {key: reader for key, reader in (_UNITS | _LEARNED).items() if isinstance(value, dict) and key in value}
    values = table(fields)(where, value)
    named = ["name" in column for column in values["columns"]]
    if len(set(named)) > 1:
        refuse(f"{where}.columns", "must have names for all columns, or for none", values["columns"])
    features: Any = values["columns"]
    if named[0]:
        names = [column.pop("name") for column in features]
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            refuse(f"{where}.columns", "must name every column once, in text", names)
        features = dict(zip(names, features, strict=True))
    try:
        products, learned = values.get("products", ()), values.get(LEARNED)
        return Bounds(features, values["target"], products, **read_units(values), learned=learned)
    except (ValueError, TypeError, OverflowError) as error:
        refuse(where, "must keep the rules of bounds", str(error))


def write_features(features: FourierMap) -> dict[str, Any]:
    """Plain values of a map, with a digest of the frequencies that its seed stands for."""
    return {
        "n_components": features.n_components,
        "kernel": features.kernel,
        "bandwidth": features.bandwidth,
        "seed": features.seed,
        "bounds": write_bounds(features.bounds),
        "width": features.width,
        "names": None if features.names is None else list(features.names),
        "frequencies": features.digest,
    }


def read_features(where: str, value: Any) -> FourierMap:
    """The map that `write_features` wrote; refused where its seed no longer draws the same frequencies."""
    values = _FEATURES(where, value)
    digest, names, bounds = values.pop("frequencies"), values["names"], values["bounds"]
    if bounds is not None and (names is not None or bounds.layout.width != values["width"]):
        refuse(f"{where}.width", "must be that of the bounds, without names", values["width"])
    if names is not None and (len(names) != values["width"] or len(set(names)) < len(names)):
        refuse(f"{where}.names", f"must be {values['width']} different names", names)
    features = FourierMap(**{**values, "names": None if names is None else tuple(names)})
    if features.digest != digest:
        remedy = "This library draws other numbers from the seed than the one that wrote the file."
        refuse(f"{where}.frequencies", f"must be those of the seed, {features.digest[:12]}...", digest, remedy)
    return features


def write_classes(classes: NDArray[Any]) -> dict[str, Any]:
    """Labels with the type of their array."""
    kind = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"type": kind, "labels": plain_labels(classes)}


def read_classes(where: str, value: Any) -> NDArray[Any]:
    """The labels, different, and sorted where they are more than two, in an array of their type."""
    values = _CLASSES(where, value)
    labels = values["labels"]
    try:
        with np.errstate(over="ignore"):
            classes = np.array(labels, dtype=values["type"])
        same = classes.tolist() == labels and declared_classes(labels).tolist() == labels
    except (ValueError, TypeError, OverflowError):
        same = False
    if not same or [type(label) for label in classes.tolist()] != [type(label) for label in labels]:
        refuse(f"{where}.labels", f"must be different labels of type {values['type']}, more than two sorted", labels)
    return classes


def plain_labels(labels: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """Labels as booleans, integers, floats and text."""
    return [label("classes", plain(entry)) for entry in labels]


def _plain_target(target: Any) -> Any:
    """A pair may hold whatever the user gave: labels, or bounds."""
    return plain_labels(target) if isinstance(target, list) else target


def _column(where: str, value: Any) -> dict[str, Any]:
    """A table of single values and lists of them; `merge` is a table of lists."""
    if not isinstance(value, dict) or "merge" not in value:
        return _shallow(where, value)
    merge = value["merge"]
    if not isinstance(merge, dict) or not all(isinstance(entries, list) for entries in merge.values()):
        refuse(f"{where}.merge", "must be a table of lists", merge)
    rest = {key: entry for key, entry in value.items() if key != "merge"}
    return _shallow(where, rest) | {"merge": _shallow(f"{where}.merge", merge)}


def _target(where: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return label_list(2, 2)(where, value)
    return _shallow(where, value)


def _shallow(where: str, value: Any) -> dict[str, Any]:
    """A table of single values and lists of them, text that UTF-8 can write throughout."""
    if not isinstance(value, dict):
        refuse(where, "must be a table", value)
    for key, entry in value.items():
        label(where, key)
        (label_list() if isinstance(entry, list) else label)(f"{where}.{key}", entry)
    return dict(value)


_FEATURES = table(
    {
        "n_components": integer(1, MOST_PAIRS),
        "kernel": choice(*KERNELS),
        "bandwidth": number(0.0, above=True),
        "seed": integer(0, SEEDS - 1),
        "bounds": read_bounds,
        "width": integer(1, MAX_FEATURES),
        "names": either(None, list_of(text, 1, MAX_FEATURES)),
        "frequencies": text,
    }
)
