"""Which file of the repository is which page of the site, and how links between them are written."""

from __future__ import annotations

import functools
import os
import re
import tomllib
import urllib.parse
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
DOCS, PROOFS = Path("docs"), Path("src/dplr")
NOT_PAGES = {"site", "gallery"}  # folders of docs: this program, and the programs of the gallery
# Pages that code hosts look for at the root; the README's place is taken by the first page.
AT_ROOT = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "develop/contributing.md",
    "SECURITY.md": "develop/security.md",
    "CHANGELOG.md": "develop/changelog.md",
    "bench/README.md": "develop/benchmarks.md",
}
# Folders that have one page: a list of what is in them.
FOLDERS = {
    "docs/gallery": "gallery/index.rst",
}
# Pages that are made from the code; files link to them by their public address.
MADE = {"reference/api.html": "reference/api.rst", "reference/commands.html": "reference/commands.md"}
PICTURES = {".png", ".svg"}
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")


@functools.cache
def pages() -> dict[Path, PurePosixPath]:
    """File of the repository -> page of the site: pages of docs keep their place, proofs lie below ``proofs``."""
    found = {Path(file): PurePosixPath(page) for file, page in AT_ROOT.items() if (ROOT / file).exists()}
    for file in sorted((ROOT / DOCS).rglob("*.md")):
        inside = file.relative_to(ROOT / DOCS)
        if inside.parts[0] not in NOT_PAGES:
            found[DOCS / inside] = PurePosixPath(inside.as_posix())
    for file in sorted((ROOT / PROOFS).rglob("*.md")):
        inside = file.relative_to(ROOT / PROOFS)
        found[PROOFS / inside] = PurePosixPath("proofs") / inside.as_posix()
    return found


def served() -> list[Path]:
    """Files that the site serves as they are, at the address that they name themselves: the JSON Schemas."""
    return sorted(file.relative_to(ROOT) for file in (ROOT / "docs" / "reference" / "schemas").glob("*.json"))


@functools.cache
def address(kind: str) -> str:
    """A public address of the project, which ends with a slash."""
    urls: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    return urls[kind].rstrip("/") + "/"


def source_address(file: Path) -> str:
    """The address of a file or folder on the code host."""
    version = os.environ.get("READTHEDOCS_GIT_IDENTIFIER") or "main"
    return f"{address('Source')}{'tree' if (ROOT / file).is_dir() else 'blob'}/{version}/{file.as_posix()}"


def between(page: PurePosixPath, other: PurePosixPath) -> str:
    """A link from one page of the site to another."""
    return os.path.relpath(other.as_posix(), page.parent.as_posix())


def page_at(link: str, file: Path) -> PurePosixPath | None:
    """The page of the site to which a link of a file leads, where it leads to one."""
    known = pages() | {Path(folder): PurePosixPath(page) for folder, page in FOLDERS.items()}
    base = address("Documentation")
    if link.startswith(base):
        addresses = {page.with_suffix(".html").as_posix(): page for page in known.values()}
        addresses |= {name: PurePosixPath(page) for name, page in MADE.items()}
        return addresses.get(link.removeprefix(base))
    return known.get(path_of(link, file))


def path_of(link: str, file: Path) -> Path:
    """The file or folder of the repository to which a relative link leads."""
    return Path(os.path.normpath(file.parent / urllib.parse.unquote(link)))


def rewritten(text: str, file: Path, page: PurePosixPath) -> str:
    """The text of a file with the links of a page: to pages of the site where they lead there, else to the source."""

    def moved(link: re.Match[str]) -> str:
        target, hash_, anchor = link[1].partition("#")
        to = page_at(target, file)
        if to is not None and target:
            return f"]({between(page, to)}{hash_}{anchor})"
        if not target or urllib.parse.urlparse(target).scheme:
            return link[0]
        path = path_of(target, file)
        if path in served():
            return f"]({address('Documentation')}{path.relative_to(DOCS).as_posix()})"
        if path.suffix in PICTURES:
            return f"]({between(page, PurePosixPath(path.relative_to(DOCS).as_posix()))})"
        return f"]({source_address(path)}{hash_}{anchor})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(moved, part) for part in parts)
