"""Results as short pieces of HTML, for notebooks and pages: text is escaped, and nothing runs, loads or has an id."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NewType

Html = NewType("Html", str)  # escaped: what a piece is made of

NOTHING = Html("")
MOST = 30  # rows of a table in a notebook

# Colours come from the notebook, light or dark; a grey of half strength is seen on both. Rules of JupyterLab for cells
# have a class and an element: those for alignment need more.
_STYLE = """
.dplr{color:inherit;max-width:60em;line-height:1.4}
.dplr p,.dplr ul{margin:.4em 0}
.dplr ul{padding-left:1.4em}
.dplr .dplr-alarm{border-left:.3em solid #d55e00;padding-left:.6em}
.dplr .dplr-wide{overflow-x:auto;margin:.4em 0}
.dplr table{border-collapse:collapse;margin:0;background:none;color:inherit;font-size:inherit}
.dplr table caption{caption-side:top;text-align:left;color:inherit;padding:.2em 0;font-weight:bold}
.dplr table th,.dplr table td{border:0;color:inherit;padding:.15em .7em .15em 0;text-align:right;vertical-align:top;\
white-space:nowrap}
.dplr table thead tr{border-bottom:1px solid #8888}
.dplr table th[scope=row],.dplr table th.dplr-words,.dplr table td.dplr-words{text-align:left}
.dplr table th[scope=row]{font-weight:normal}
.dplr table td.dplr-words,.dplr table th bdi{white-space:normal;overflow-wrap:break-word}
.dplr table th bdi{display:inline-block;max-width:30em}
.dplr table td{font-variant-numeric:tabular-nums}
.dplr table.dplr-facts th[scope=row]{opacity:.75}
.dplr table.dplr-facts td div+div{margin-top:.2em}
.dplr table.dplr-facts td div{padding-left:1em;text-indent:-1em}
""".replace("\n", "")


def printable(text: str) -> str:
    """Text whose characters are all seen: names come from others, and could steer what shows them."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def escaped(text: object) -> Html:
    """Text that no reader takes for HTML."""
    return Html(html.escape(printable(str(text))))


def piece(title: str, *parts: Html) -> str:
    """The form of a result in a notebook: its name, and its parts."""
    heading = f"<p><strong>{escaped(title)}</strong></p>" if title else ""
    return f'<div class="dplr"><style>{_STYLE}</style>{heading}{"".join(parts)}</div>'


def table(
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    names: int = 1,
    words: int = 0,
    caption: str = "",
    kind: str = "dplr-table",
) -> Html:
    """A table: columns of names, which head the rows, then of words, both flush left, then of numbers, flush right."""
    flush = names + words
    top = "".join(f'<th scope="col"{_class(k < flush)}>{escaped(cell)}</th>' for k, cell in enumerate(head))
    body = "".join(f"<tr>{''.join(_cells(row[: len(head)], names, flush))}</tr>" for row in rows)
    above = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return Html(f'<table class="{kind}">{above}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>')


def _cells(row: Sequence[object], names: int, flush: int) -> Iterator[str]:
    for k, cell in enumerate(row):
        if k < names:
            yield f'<th scope="row"><bdi>{escaped(cell)}</bdi></th>'
        else:
            yield f"<td{_class(k < flush)}>{escaped(cell)}</td>"


def _class(words: bool) -> str:
    return ' class="dplr-words"' if words else ""


def facts(pairs: Iterable[tuple[str, object]], caption: str = "") -> Html:
    """Labels and their texts; texts that follow each other under one label stand together. Nothing for none."""
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escaped(label)}</bdi></th><td class="dplr-words">'
        f"{''.join(f'<div>{escaped(text)}</div>' for _, text in group)}</td></tr>"
        for label, group in groupby(pairs, key=lambda pair: pair[0])
    )
    above = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return wide(Html(f'<table class="dplr-facts">{above}<tbody>{rows}</tbody></table>')) if rows else NOTHING


def wide(content: Html) -> Html:
    """A table that scrolls in a box of its own, where it is wider than the page."""
    return Html(f'<div class="dplr-wide">{content}</div>')


def excerpt(
    head: Sequence[object],
    rows: Sequence[Sequence[object]],
    noun: str,
    *,
    names: int = 1,
    words: int = 0,
    caption: str = "",
    hidden: int = 0,
    where: str = "`print` shows them",
) -> Html:
    """The first rows of a table, and how many more there are of this noun, those that are not among `rows` too.

    Nothing for no rows.
    """
    if not rows:
        return NOTHING
    shown = wide(table(head, rows[:MOST], names=names, words=words, caption=caption))
    surplus = max(len(rows) - MOST, 0) + hidden
    return Html(shown + (paragraph(f"({surplus:,} more {noun}: {where})") if surplus else ""))


def paragraph(text: str) -> Html:
    return Html(f"<p>{escaped(text)}</p>")


def alarms(texts: Iterable[str]) -> Html:
    """Sentences that nobody may overlook; nothing for none."""
    return Html("".join(f'<p class="dplr-alarm"><strong>{escaped(text)}</strong></p>' for text in texts))


def sentences(texts: Iterable[str], heading: str = "") -> Html:
    """A list of sentences, below a heading; nothing for none."""
    items = "".join(f"<li>{escaped(text)}</li>" for text in texts)
    return Html((paragraph(heading) if heading else "") + f"<ul>{items}</ul>") if items else NOTHING
