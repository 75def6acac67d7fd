"""Pictures, and the tables inside the papers' pages: both are made of the committed numbers, never typed."""

from __future__ import annotations

import pathlib
import re

import pandas as pd

from bench.papers.figure import Figure
from bench.papers.run import DOCS


def show(figure: Figure, docs: pathlib.Path = DOCS) -> None:
    """Draw a figure's picture and renew its table."""
    path = docs / f"{figure.name}.csv"
    if not path.exists():
        return
    numbers = pd.read_csv(path)
    if figure.draw:
        figure.draw(numbers).savefig(path.with_suffix(".png"), dpi=110)
    if figure.table:
        page = page_of(figure, docs)
        page.write_text(renewed(page.read_text(), figure.name.split("/")[1], figure.table(numbers)))


def page_of(figure: Figure, docs: pathlib.Path = DOCS) -> pathlib.Path:
    """The page of a figure's table and picture."""
    return docs.parent / figure.page if figure.page else docs / f"{figure.name.split('/')[0]}.md"


def renewed(text: str, part: str, table: str) -> str:
    """The page with another table between the marks of that part."""
    marked = re.compile(rf"(<!-- {part} -->\n).*?(<!-- /{part} -->)", re.DOTALL)
    if len(marked.findall(text)) != 1:
        raise ValueError(f"the page must have the marks <!-- {part} --> and <!-- /{part} --> once")
    return marked.sub(lambda found: f"{found[1]}\n{table.strip()}\n\n{found[2]}", text)


def markdown(rows: pd.DataFrame, digits: int = 4) -> str:
    """A Markdown table of a frame: numbers with that many digits after the point, nothing for what is not there."""

    def cell(value: object) -> str:
        if isinstance(value, float):
            return "" if value != value else f"{value:.{digits}f}"
        return str(value)

    lines = [list(map(str, rows.columns)), ["---"] * len(rows.columns)]
    lines += [[cell(value) for value in row] for row in rows.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
