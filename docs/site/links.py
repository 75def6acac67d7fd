"""Follows every link of the finished site, and looks for what a page would load from another host."""

from __future__ import annotations

import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag names."""
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in {"canonical", "search"}:
            self.loaded.append(given[LOADED[tag]])


def faults(site: Path, home: str) -> list[str]:
    """A sentence for each link that leads nowhere, and for each file that another host would have to send.

    The site will be served at `home`: links to that address are followed too.
    """
    pages = {file: Page(file.read_text()) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    found = []
    for file, page in pages.items():
        name = file.relative_to(site)
        foreign = [each for each in page.loaded if urllib.parse.urlparse(each).netloc]
        found += [f"{name} loads {each} from another host." for each in foreign]
        for link in [*page.links, *page.loaded]:
            parts = urllib.parse.urlparse(link.removeprefix(home))
            if parts.scheme or parts.netloc:
                continue
            folder = site if link.startswith(home) else file.parent
            target = (folder / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                found.append(f"{name} links to {link}, which does not exist.")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{name} links to {link}, which has no such anchor.")
    return found
