"""The pages of the API: the names in ``__all__`` of the public modules, each at one address."""

from __future__ import annotations

import importlib
import inspect
import tomllib
from pathlib import Path, PurePosixPath

# A name that `dplr` itself offers has its page there, whichever other module offers it too.
MODULES: list[str] = tomllib.loads((Path(__file__).parents[1] / "reference" / "public.toml").read_text())["modules"]
TOP = """Python
======

The public names. Whatever is not listed here is private, and may change without notice.

.. list-table::
   :widths: 25 75
   :header-rows: 1

   * - module
     - for
{rows}

.. toctree::
   :hidden:

{entries}
"""
MODULE = """{title}
{line}

.. automodule:: {module}
   :no-members:

.. currentmodule:: {module}

{names}
"""


def public_names(module: str) -> list[str]:
    """The public names of a module, sorted without regard to case."""
    return sorted(getattr(importlib.import_module(module), "__all__", []), key=str.lower)


def own_names(module: str) -> list[str]:
    """Those public names of a module that have their page below it."""
    elsewhere = set() if module == "dplr" else set(public_names("dplr"))
    return [name for name in public_names(module) if name not in elsewhere]


def kind(thing: object) -> str:
    """Under which heading a name stands."""
    if inspect.isclass(thing):
        return "Errors and warnings" if issubclass(thing, Exception) else "Classes"
    return "Functions" if callable(thing) else "Data"


def purpose(module: str) -> str:
    """The first paragraph of the docstring of a module, on one line."""
    return " ".join((inspect.getdoc(importlib.import_module(module)) or "").split("\n\n")[0].split())


def _tables(module: str) -> str:
    """One table of names for each kind of name."""
    found = importlib.import_module(module)
    blocks = []
    for heading in ("Functions", "Classes", "Errors and warnings", "Data"):
        names = [name for name in own_names(module) if kind(getattr(found, name)) == heading]
        if names:
            table = ".. autosummary::\n   :toctree: api\n   :nosignatures:\n\n" + "\n".join(f"   {n}" for n in names)
            blocks.append(f"{heading}\n{'-' * len(heading)}\n\n{table}\n")
    others = [name for name in public_names(module) if name not in own_names(module)]
    if others:
        blocks.append("Offered here too: " + ", ".join(f":py:obj:`dplr.{name}`" for name in others) + ".\n")
    return "\n".join(blocks)


def pages() -> dict[PurePosixPath, str]:
    """The page of every module, and the page that lists them."""
    rows = "\n".join(f"   * - :doc:`{module}`\n     - {purpose(module)}" for module in MODULES)
    made = {PurePosixPath("reference/api.rst"): TOP.format(rows=rows, entries="\n".join(f"   {m}" for m in MODULES))}
    for module in MODULES:
        text = MODULE.format(title=module, line="=" * len(module), module=module, names=_tables(module))
        made[PurePosixPath(f"reference/{module}.rst")] = text
    return made
