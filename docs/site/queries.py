"""Questions that people type into the search box, and the pages that must be among the first results.

`queries.toml` has both. The search is the site's own program in a JavaScript engine, over the index of the built site.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Self

TABLE = Path(__file__).with_name("queries.toml")
FIRST = 3  # results that a reader looks at
# What the program takes for granted in a browser, and does not need to order results.
_BROWSER = """
var window = globalThis, _ready = () => {}, _ = (text) => text, SPHINX_HIGHLIGHT_ENABLED = false;
var document = {getElementById: () => null};
"""
_RESULTS = """
(query) => {
  const results = Search._performSearch(...Search._parseQuery(query)).reverse();
  return JSON.stringify([...new Set(results.map((result) => result[0]))]);
}
"""


class SearchBox:
    """The search of a built site; a context, at whose end the engine stops its threads."""

    def __init__(self, site: Path) -> None:
        from py_mini_racer import MiniRacer  # of the extra `docs`: tests read the table without it

        self._engine = MiniRacer()
        self._engine.eval(_BROWSER)
        # Sphinx puts the scorer into this program.
        for name in ("_static/language_data.js", "_static/searchtools.js", "searchindex.js"):
            self._engine.eval((site / name).read_text(encoding="utf-8"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def pages(self, query: str) -> list[str]:
        """Pages of the results, each once, the best first."""
        found: list[str] = json.loads(self._engine.eval(f"({_RESULTS})({json.dumps(query)})"))
        return found


def faults(site: Path) -> list[str]:
    """A sentence for each query whose page is not among the first results."""
    asked = tomllib.loads(TABLE.read_text(encoding="utf-8"))["queries"]
    with SearchBox(site) as box:
        first = {query: box.pages(query)[:FIRST] for query in asked}
    return [
        f"search for {query!r} must show {page} among its first {FIRST}; got {', '.join(first[query])}"
        for query, page in asked.items()
        if page not in first[query]
    ]
