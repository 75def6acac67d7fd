"""The README with addresses in place of relative links, for a package page: ``python docs/site/package_page.py``.

It rewrites README.md. Files outside of ``docs`` and the proofs are shown by the code host.
"""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path

import pages

README = Path("README.md")


def addressed(text: str) -> str:
    """The text of the README with every relative link written as a public address."""

    def moved(link: re.Match[str]) -> str:
        target, hash_, anchor = link[1].partition("#")
        if not target or urllib.parse.urlparse(target).scheme:
            return link[0]
        return f"]({address_of(pages.path_of(target, README))}{hash_}{anchor})"

    parts = pages.FENCE.split(text)
    return "".join(part if part.startswith("```") else pages.LINK.sub(moved, part) for part in parts)


def address_of(file: Path) -> str:
    """The address of a file or folder of the repository: of its page on the site, where it has one."""
    if file.suffix in pages.PICTURES:
        source = pages.address("Source").replace("github.com", "raw.githubusercontent.com")
        return f"{source}main/{file.as_posix()}"
    page = pages.pages().get(file)
    if page is None or file.as_posix() in pages.AT_ROOT:
        return pages.source_address(file)
    return pages.address("Documentation") + page.with_suffix(".html").as_posix()


if __name__ == "__main__":
    path = pages.ROOT / README
    path.write_text(addressed(path.read_text()))
