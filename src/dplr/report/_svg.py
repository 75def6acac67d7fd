"""Pictures as SVG that may stand inside an HTML page: text stays text, and nothing is left that a page may not hold."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from dplr.plots._drawing import HEIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOK = {
    "svg.fonttype": "none",  # names are set by the reader's browser: it has fonts and bidirectional text for them
    "svg.hashsalt": "dplr",  # the same picture has the same bytes
}
_WIDTH = 4.4  # inches: letters are as large as those of the page on a phone
_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"(^|url\()#([A-Za-z][\w.-]*)(?=$|\))")  # a colour such as #ffffff is found too: no id has it


def inline_svg(draw: Callable[[Axes], object], name: str, description: str, height: float = HEIGHT) -> str:
    """The drawing that `draw` makes on an Axes, as an `<svg>` element whose identifiers begin with `name`.

    The figure is one that pyplot does not know, so nothing is left open. Styles become attributes, so that the page's
    Content-Security-Policy need not allow them. Everything but drawing is dropped: metadata, comments, style sheets,
    identifiers that nothing refers to.
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    with matplotlib.style.context(["default", _LOOK]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has another font
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        draw(figure.subplots())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True)
    root = ElementTree.fromstring(buffer.getvalue())  # the parser drops comments
    for parent in list(root.iter()):
        for child in [child for child in parent if _tag(child) in ("metadata", "style")]:
            parent.remove(child)
    used = {match[1] for part in root.iter() for value in part.attrib.values() for match in _REFERENCE.findall(value)}
    for part in root.iter():
        _clean(part, used, name)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": description}
    root.attrib |= {"font-family": "DejaVu Sans, Verdana, sans-serif", "stroke-linejoin": "round"}
    return ElementTree.tostring(root, encoding="unicode")


def _tag(part: ElementTree.Element) -> str:
    return part.tag.rpartition("}")[2]


def _clean(part: ElementTree.Element, used: set[str], name: str) -> None:
    """Plain tags and attributes, styles as attributes, identifiers of this picture alone."""
    part.tag = _tag(part)
    attributes = {"href" if key == _LINK else key: value for key, value in part.attrib.items()}
    for declaration in attributes.pop("style", "").split(";"):
        key, _, value = declaration.partition(":")
        if key.strip() not in ("", "font-family"):
            attributes[key.strip()] = value.strip()
    if attributes.get("id") in used:
        attributes["id"] = f"{name}-{attributes['id']}"
    else:
        attributes.pop("id", None)
    for key in {"href", "clip-path"} & set(attributes):
        attributes[key] = _REFERENCE.sub(rf"\1#{name}-\2", attributes[key])
    part.attrib = attributes
