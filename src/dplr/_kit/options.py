"""One wording for the options that fits, plans and models share: a docstring has the entries that are its own.

`documented` adds the others: those of shared options, and of attributes that a base class describes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

# Name -> its entry in a section Parameters.
_ENTRIES = """
eps : float, default=1.0
    Privacy loss, above 0. ``float("inf")`` fits without noise and without privacy.
delta : float, default=0.0
    The delta of (eps, delta)-differential privacy, in [0, 1). 0 requests pure eps-DP.
classes : sequence, "from_data" or None, default=None
    Labels, from public knowledge. None suits booleans, 0 and 1, and bounds that name the labels. More than two
    labels are fitted one against the rest.
class_weight : mapping of label to float, or None, default=None
    Public factor of every label, for classifiers. None counts all rows alike.
fit_intercept : bool, default=True
    Whether the model has an intercept.
l2 : float or "auto", default="auto"
    Ridge: factor of ||w||^2 / 2 in the mean objective of the scaled problem, at least 0. ``"auto"`` is a function
    of public facts.
neighbouring : {"replace_one", "add_remove"}, default="replace_one"
    Whether a neighbouring data set has one record replaced, or one record more or less.
n_rows : int or None, default=None
    Public number of rows, or of persons. Under replace_one it is what X holds. Under add_remove it is a
    declared reference, or None.
person : str or None, default=None
    Name of the column of the ids of persons. The guarantee then protects one person with all their rows. None
    protects each row alone.
public : tuple, fitted model, array-like or None, default=None
    Where the fit starts and towards which its ridge pulls, as in `LogisticRegression`: public rows ``(X, y)``, a
    fitted model or ``(coef, intercept)``.
curves : int, "auto" or None, default=None
    Number of knots of a curve beside each declared number that measures something, as in `LogisticRegression`.
    `"auto"` takes some where they pay, a function of public facts. None fits lines.
aim : {"prediction", "coefficients"}, default="prediction"
    Whether the model is for predictions, or for a table of coefficients with intervals, as in
    `LogisticRegression`.
ledger : Ledger, path-like or None, default=None
    Budget that pays for every fit. None counts nothing.
rng : int or None, default=None
    None takes the operating system's entropy. An int makes the noise reproducible: such a fit is not private.
progress : bool, default=False
    Whether a bar (extra `progress`) shows the progress of a long fit.
"""
_FIRST = ("", "Parameters", "Attributes", "Returns", "Raises", "Privacy")  # sections, in their order
_SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", flags=re.M)


def documented(thing: T, options: Mapping[str, str] | None = None, further: Mapping[str, str] | None = None) -> T:
    """Add the entries that the docstring of a function or class leaves out: of `OPTIONS`, and of its base class.

    `further` begin the section Raises, and are other sections where there are none.
    """
    text = thing.__doc__
    if text is None:  # python -OO
        return thing
    parts = _SECTION.split(inspect.cleandoc(text))
    sections = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    parameters = _merged(_names(thing), _entries(sections.get("Parameters", "")), {**OPTIONS, **(options or {})})
    inherited = _attributes_of_bases(thing)
    own = _entries(sections.get("Attributes", ""))
    attributes = _merged([*inherited, *(name for name in own if name not in inherited)], own, inherited)
    sections |= {"Parameters": parameters, "Attributes": attributes}
    for name, text in (further or {}).items():
        sections[name] = f"{text}\n{sections.get(name, '')}" if name == "Raises" else sections.get(name, text)
    order = {name: sections[name] for name in (*_FIRST, *sections) if name in sections}
    heads = {name: f"{name}\n{'-' * len(name)}\n" if name else "" for name in order}
    thing.__doc__ = "\n\n".join(heads[name] + body.rstrip() for name, body in order.items() if body) + "\n"
    return thing


def _names(thing: Any) -> list[str]:
    """The parameters in their order, stars included."""
    parameters = inspect.signature(thing).parameters.values()
    return [str(parameter).split("=")[0].split(":")[0].strip() for parameter in parameters]


def _entries(section: str) -> dict[str, str]:
    """Name -> its entry; several names of one entry are one name."""
    starts = [match.start() for match in re.finditer(r"^\S", section, flags=re.M)]
    ends = [*starts, len(section)][1:]
    entries = [section[start:end].rstrip() for start, end in zip(starts, ends, strict=True)]
    return {entry.splitlines()[0].split(" : ")[0]: entry for entry in entries}


def _merged(names: list[str], own: dict[str, str], others: dict[str, str]) -> str:
    """The entries of these names, their own where there is one; then own ones of several names."""
    single = [own.get(name) or others.get(name, "") for name in names]
    return "\n".join(filter(None, [*single, *(entry for name, entry in own.items() if name not in names)]))


def _attributes_of_bases(thing: Any) -> dict[str, str]:
    """The attributes that the nearest base class with such a section describes."""
    for base in thing.__mro__[1:] if isinstance(thing, type) else ():
        parts = _SECTION.split(inspect.cleandoc(base.__doc__ or ""))
        if base.__module__.startswith("dplr.") and "Attributes" in parts[1::2]:
            return _entries(parts[parts.index("Attributes") + 1])
    return {}


OPTIONS = _entries(_ENTRIES)
