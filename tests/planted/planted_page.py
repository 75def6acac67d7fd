"""The page of the documentation that is made of the table: ``python tests/planted/planted_page.py`` writes it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from planted_table import ROOT, areas, read

PAGE = ROOT / "docs" / "trust" / "planted-faults.md"
_HEAD = """# Planted faults

<!-- Made by tests/planted/planted_page.py from the tables in tests/planted: change those. -->

A test suite is worth what it refuses. A planted fault is a small change of the package that breaks its
privacy, or a number that it states, such as half a sensitivity, noise that two releases share, or a clip that
is left out. For each there is a test that turns red: a law, an audit, a statement or a count, never a
hash of the source.

`make planted` makes a copy of the package for each fault, breaks it, compiles what was compiled, and runs the
test. It ends with an error if a test is green on its fault, if the copy is no program, or if a test is red
without the fault. `python tests/planted NAME` tries one fault, and `--area AREA` one table.

A new mechanism adds its faults to the file of their area in
[tests/planted](../../tests/planted): a name, one sentence that says what breaks, the lines as they are written
and in their broken form, and the smallest test that is red. If no test is, write that test first.

There are {count} faults. The suite that runs for every change sees {default} of them.{others}
"""
_ROWS = """
## {title}

| fault | why it matters | red test | suite |
|---|---|---|---|
"""


def _cell(text):
    """Text in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _test(node):
    """A node id without the folder and the case."""
    return f"`{node.partition('[')[0].removeprefix('tests/')}`"


def _row(fault):
    tests = "<br>".join(dict.fromkeys(map(_test, fault.tests)))
    suite = fault.suite if not fault.reason else f"{fault.suite}: {fault.reason}"
    return f"| {_cell(fault.name)} | {_cell(fault.why)} | {tests} | {_cell(suite)} |\n"


def text():
    """The page."""
    faults = read()
    default = sum(fault.suite == "default" for fault in faults)
    others = " `make thorough` sees the others; their rows say why." if default < len(faults) else ""
    page = _HEAD.format(count=len(faults), default=default, others=others)
    for area, title in areas().items():
        page += _ROWS.format(title=title) + "".join(_row(fault) for fault in faults if fault.area == area)
    return page


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
