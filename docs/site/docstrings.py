"""What the reference shows of a docstring: the section Privacy as a box, and no members that dplr does not define.

numpydoc knows no section Privacy: it is taken out before numpydoc reads a docstring, and set back afterwards.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from numpydoc.docscrape import NumpyDocString

SECTION = re.compile(r"^Privacy\n-{3,}\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
BEFORE = re.compile(r"^\.\. rubric:: (See Also|Notes|References|Examples)$|^\.\. seealso::$", re.MULTILINE)
_waiting: dict[str, str] = {}


def taken_out(text: str) -> tuple[str, str]:
    """The docstring without its section Privacy, and the text of that section (empty where there is none)."""
    found = SECTION.search(text)
    if found is None:
        return text, ""
    return text[: found.start()] + text[found.end() :], found[1].strip("\n")


def set_back(text: str, privacy: str) -> str:
    """The docstring as numpydoc wrote it, with a box before the notes or examples, or at the end."""
    box = "\n.. admonition:: Privacy\n   :class: privacy\n\n"
    box += "\n".join(f"   {line}" if line else "" for line in privacy.split("\n")) + "\n\n"
    place = BEFORE.search(text)
    at = place.start() if place else len(text)
    return text[:at] + box + text[at:]


def _before(_app: Any, _what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    text, privacy = taken_out("\n".join(lines))
    if privacy:
        _waiting[name] = privacy
        lines[:] = text.split("\n")


def _after(_app: Any, _what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    privacy = _waiting.pop(name, "")
    if privacy:
        lines[:] = set_back("\n".join(lines), privacy).split("\n")


def _skip(_app: Any, _what: str, _name: str, obj: Any, _skipped: bool, _options: Any) -> bool | None:
    """True for a member that another package wrote; None leaves the choice to autodoc."""
    function = obj.fget if isinstance(obj, property) else obj
    home = getattr(function, "__module__", None)
    foreign = isinstance(home, str) and not home.startswith("dplr")
    return True if foreign or inspect.isbuiltin(obj) or inspect.ismethoddescriptor(obj) else None


def setup(app: Any) -> dict[str, bool]:
    """Before and after numpydoc, which listens with priority 500."""
    app.connect("autodoc-process-docstring", _before, priority=400)
    app.connect("autodoc-process-docstring", _after, priority=600)
    app.connect("autodoc-skip-member", _skip)
    NumpyDocString.sections["Privacy"] = ""  # elsewhere it reads docstrings as they are
    return {"parallel_read_safe": True}
