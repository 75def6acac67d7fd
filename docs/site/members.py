"""Leaves out of the reference what another package defines: the members that estimators inherit from scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any


def is_foreign(member: object) -> bool:
    """Whether a member of a class comes from outside of dplr."""
    home = getattr(member.fget if isinstance(member, property) else member, "__module__", None)
    outside = isinstance(home, str) and home.split(".")[0] != "dplr"
    return outside or inspect.isbuiltin(member) or inspect.ismethoddescriptor(member)


def setup(app: Any) -> dict[str, bool]:
    """Before others listen (their priority is 500); None leaves the choice to them."""
    event = "autodoc-skip-member"
    app.connect(event, lambda _app, _what, _name, member, _skip, _options: is_foreign(member) or None, priority=400)
    return {"parallel_read_safe": True}
