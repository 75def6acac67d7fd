"""The base of the page: its template, a policy that lets nothing in, numbers and names as a reader sees them."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from importlib import resources
from typing import Any

from dplr._kit.extras import missing_library


def source(name: str) -> str:
    """The text of a file beside this one."""
    return resources.files("dplr.report").joinpath(name).read_text(encoding="utf-8")


def page_template() -> tuple[Any, Any]:
    """The template of the page, and the mark for text that is markup already."""
    try:
        import jinja2
        import matplotlib.style  # noqa: F401  # missing as often as jinja2; the pictures need it later
        from markupsafe import Markup
    except ModuleNotFoundError as missing:
        raise missing_library("a report", "jinja2 and matplotlib", "plots", missing.name) from missing
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source("page.html")), Markup


def policy(style: str) -> str:
    """Nothing may be loaded; the one style sheet is named by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def number(value: float) -> str:
    """Four digits, written out where that is at most seven places long."""
    return _written(value, f"{value:.4g}", 4)


def figures(value: float) -> str:
    """Two digits, zeros at the end included: those of a number whose noise is not known."""
    return _written(value, f"{value:#.2g}".removesuffix("."), 2)


def _written(value: float, short: str, digits: int) -> str:
    if value and 10**digits <= abs(value) < 1e7:
        short = f"{round(value, digits - 1 - math.floor(math.log10(abs(value)))):,.0f}"
    return short.replace("-", "\u2212")


def breakable(name: str) -> list[str]:
    """Parts of a name between which a line may end."""
    return [part for part in re.split(r"(?<=[=_\-/ ])", name) if part]
