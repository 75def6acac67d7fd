"""Names are nouns of the field, and docstrings say what a thing is."""

import ast
import pathlib

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "dplr"
# Words that say nothing of what they hold.
GENERIC = {
    "asked", "chosen", "each", "found", "given", "held", "known", "left", "made", "more", "other", "others", "own",
    "said", "seen", "taken", "told", "usual", "wanted", "whole",
}  # fmt: skip
RIDDLES = ("What ", "The same ", "See ")


def trees():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE), ast.parse(path.read_text())


def test_hardly_a_name_is_a_generic_word():
    stored = [
        (path, node.lineno, node.id) for path, tree in trees() for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]  # fmt: skip
    generic = [place for place in stored if place[2] in GENERIC]
    assert len(stored) > 5000
    assert len(generic) <= len(stored) / 1000, generic


def test_a_docstring_says_what_the_thing_is():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    riddles = [
        (path, text.splitlines()[0]) for path, tree in trees() for node in ast.walk(tree)
        if isinstance(node, kinds) and (text := ast.get_docstring(node)) and text.startswith(RIDDLES)
    ]  # fmt: skip
    assert riddles == []
