"""Lays out the folder that Sphinx reads: copies of the repository's pages, and pages that are made of others.

``docs/index.md`` lists every page; its sections are the navigation of the site.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import api_pages
import command_pages
import pages

HERE = Path(__file__).parent
SUBJECTS, MISSING = HERE / "subjects.toml", HERE / "404.html"
INDEX, LANDING = pages.DOCS / "index.md", pages.DOCS / "site" / "landing.md"
FIRST = PurePosixPath("index.md")
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
ENTRY = re.compile(r"^\| \[([^\]]+)\]\(([^()\s]+)\)", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A section of the index: its heading, its text, and the (name, page) of the table's rows."""

    title: str
    text: str
    entries: tuple[tuple[str, PurePosixPath], ...]

    @property
    def page(self) -> PurePosixPath:
        """The page of the section itself: that of its entry, where it has only one."""
        return PurePosixPath(self.title.lower() + ".md") if len(self.entries) > 1 else self.entries[0][1]


def sections() -> Iterator[Section]:
    """The sections of ``docs/index.md``, in order."""
    parts = HEADING.split((pages.ROOT / INDEX).read_text())
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        entries = [(name, pages.page_at(target, INDEX)) for name, target in ENTRY.findall(text)]
        yield Section(title, text.strip(), tuple((name, page) for name, page in entries if page is not None))


def toctree(entries: list[str], *options: str) -> str:
    """A directive of Markdown with the pages below this one."""
    return "\n".join(["```{toctree}", *options, *entries, "```\n"])


def _address(page: PurePosixPath) -> str:
    return "/" + page.with_suffix("").as_posix()


def section_page(section: Section) -> str:
    """The page of a section: its part of the index, and its entries in the navigation."""
    text = pages.rewritten(section.text, INDEX, section.page)
    entries = [f"{name} <{_address(page)}>" for name, page in section.entries]
    return f"# {section.title}\n\n{text}\n\n{toctree(entries, ':hidden:')}"


def folder_page(folder: Path, page: PurePosixPath) -> str:
    """A list of the pages of a folder, under the name that the index gives it."""
    names = {below: name for section in sections() for name, below in section.entries}
    entries = [_address(below) for file, below in sorted(pages.pages().items()) if file.parent == folder]
    return f"# {names[page]}\n\n{toctree(entries, ':maxdepth: 1')}"


def first_page() -> str:
    """The landing page, with the sections as its navigation."""
    titles = [f"{section.title} <{_address(section.page)}>" for section in sections()]
    text = pages.rewritten((pages.ROOT / LANDING).read_text(), LANDING, FIRST)
    return f"{text}\n{toctree(titles, ':hidden:')}"


def proofs_below(text: str) -> str:
    """The page on proofs with every proof below it."""
    proofs = [page for file, page in pages.pages().items() if file.is_relative_to(pages.PROOFS)]
    return text + "\n" + toctree([_address(page) for page in proofs], ":hidden:")


def with_subjects(text: str, subjects: list[str]) -> str:
    """The page with entries of the index before its title: the search puts pages first that have what was typed."""
    entries = ", ".join(f"! {subject}" for subject in subjects)  # "!" makes a main entry: others come last
    return f"```{{index}} {entries}\n```\n\n{text}"


def lay_out(source: Path) -> None:
    """Write the folder that Sphinx reads, anew."""
    shutil.rmtree(source, ignore_errors=True)
    written = {page: (pages.ROOT / file).read_text() for file, page in pages.pages().items()}
    for file, page in pages.pages().items():
        written[page] = pages.rewritten(written[page], file, page)
    written[PurePosixPath("trust/proofs.md")] = proofs_below(written[PurePosixPath("trust/proofs.md")])
    written[FIRST] = first_page()
    for section in sections():
        if len(section.entries) > 1:
            written[section.page] = section_page(section)
    for folder, name in pages.FOLDERS.items():
        if name.endswith(".md"):
            written[PurePosixPath(name)] = folder_page(Path(folder), PurePosixPath(name))
    written |= api_pages.pages() | {PurePosixPath("reference/commands.md"): command_pages.page()}
    for name, subjects in tomllib.loads(SUBJECTS.read_text())["subjects"].items():
        written[PurePosixPath(f"{name}.md")] = with_subjects(written[PurePosixPath(f"{name}.md")], subjects)
    for page, text in written.items():
        (source / page).parent.mkdir(parents=True, exist_ok=True)
        (source / page).write_text(text)
    _copy([file for file in (pages.ROOT / pages.DOCS).rglob("*") if file.suffix in pages.PICTURES], source)
    _copy([pages.ROOT / file for file in pages.served()], source.with_name("served"))
    missing = MISSING.read_text().replace("{home}", pages.address("Documentation"))
    (source.with_name("served") / MISSING.name).write_text(missing)


def _copy(files: list[Path], folder: Path) -> None:
    """Copy files of ``docs`` to their place below a folder."""
    for file in files:
        target = folder / file.relative_to(pages.ROOT / pages.DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
