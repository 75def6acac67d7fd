"""The size of the package in numbers: lines, tokens, rooms, cycles, repeated ideas, and the calls of a fit."""

import ast
import collections
import importlib
import inspect
import io
import pathlib
import re
import sys
import tempfile
import tokenize
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dplr"
OPTIONS = {
    "eps", "delta", "mechanism", "bounds", "classes", "fit_intercept", "l2", "neighbouring", "n_rows", "person",
    "sample_weight", "class_weight", "public", "curves",
    "aim", "ledger", "rng", "progress", "holdout",
}  # fmt: skip
# A list of options is a place that names this many of them.
LISTED = 6
# A limit this far above its number is to be lowered.
SLACK = 0.01
PRINTS = frozenset({"__str__", "_repr_html_", "to_text", "to_html", "to_latex", "to_csv"})
OTHER = {
    "stub": [".pyi"],
    "cython": [".pyx", ".pxd"],
    "c": [".c", ".h"],
    "data": [".html", ".js", ".css", ".json", ".toml"],
}
_NO_CODE = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def broken(numbers, limits):
    """What is wrong of numbers and their limits."""
    said = [f"{name} has no limit" for name in sorted(numbers.keys() - limits.keys())]
    said += [f"nothing is measured for {name}" for name in sorted(limits.keys() - numbers.keys())]
    for name in sorted(numbers.keys() & limits.keys()):
        number, limit = numbers[name], limits[name]
        if number > limit:
            said.append(f"{name}: {number} is above its limit of {limit}")
        elif number < limit - SLACK * limit:
            said.append(f"{name}: {number}: lower its limit of {limit}")
    return said


def sources():
    """The Python files of the package and their trees."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def tokens_of(path, tree):
    """Tokens of code, which no formatting changes: those outside docstrings, comments and imports."""
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            silent.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            silent.update(range(node.lineno, node.end_lineno + 1))
    read = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return sum(
        token.type not in _NO_CODE and token.type != tokenize.COMMENT and token.start[0] not in silent for token in read
    )


def room(path):
    """The folder below the package in which a file lies; "package" for the files beside the folders."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "package"


def lines(path):
    """Lines of a file."""
    return path.read_text(encoding="utf-8").count("\n")


def cycles(trees):
    """Groups of files that import each other, by any import: also those for types and inside functions."""
    names = {".".join(("dplr", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in trees}
    graph = {path: set() for path in trees}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            asked = []
            if isinstance(node, ast.Import):
                asked = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                asked = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            graph[path].update(names[name] for name in asked if name in names and names[name] != path)
    return [group for group in _components(graph) if len(group) > 1]


def _components(graph):
    """The strongly connected parts of a graph: files that reach each other."""
    reach = {}
    for start in graph:
        seen, ahead = set(), [start]
        while ahead:
            for other in graph[ahead.pop()] - seen:
                seen.add(other)
                ahead.append(other)
        reach[start] = seen
    return {frozenset({path, *(other for other in reach[path] if path in reach[other])}) for path in graph}


def option_lists(tree):
    """How many places of a file list options of a fit: signatures, fields, calls, literals, docstrings."""
    found = 0
    for node in ast.walk(tree):
        named = []
        if isinstance(node, ast.FunctionDef):
            named.append({each.arg for each in node.args.args + node.args.kwonlyargs})
        elif isinstance(node, ast.ClassDef):
            fields = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
            named.append({field.id for field in fields if isinstance(field, ast.Name)})
        elif isinstance(node, ast.Call):
            named.append({keyword.arg for keyword in node.keywords})
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
            each = node.keys if isinstance(node, ast.Dict) else node.elts
            named.append({value.value for value in each if isinstance(value, ast.Constant)})
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            named.append(set(re.findall(r"^(\w+) : ", ast.get_docstring(node) or "", re.MULTILINE)))
        found += sum(len(OPTIONS & names) >= LISTED for names in named)
    return found


def printing_classes(tree):
    """Classes of a file with a printed form of their own."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sum(any(isinstance(each, ast.FunctionDef) and each.name in PRINTS for each in node.body) for node in classes)


def calls_to(tree, name):
    """Calls of a name in a file."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sum(isinstance(called, ast.Name) and called.id == name for called in calls)


def of_source():
    """Numbers of the source tree: (those of the whole package, lines by room)."""
    trees = sources()
    rooms = collections.Counter()
    for path in trees:
        rooms[room(path)] += lines(path)
    numbers = {
        "files": len(trees),
        "lines": sum(rooms.values()),
        "tokens": sum(tokens_of(path, tree) for path, tree in trees.items()),
        "rooms": len(rooms),
        "import_cycles": len(cycles(trees)),
        "lists_of_options": sum(map(option_lists, trees.values())),
        "classes_that_print": sum(map(printing_classes, trees.values())),
        "makers_of_statements": sum(calls_to(tree, "PrivacyStatement") for tree in trees.values()),
        "generated_code": sum(calls_to(tree, "exec") + calls_to(tree, "eval") for tree in trees.values()),
        "format_comments": sum(len(re.findall(r"# fmt:", path.read_text(encoding="utf-8"))) for path in trees),
    }
    for kind, endings in OTHER.items():
        numbers[f"{kind}_lines"] = sum(lines(path) for path in SOURCE.rglob("*") if path.suffix in endings)
    return numbers, dict(rooms)


class _Story:
    """The calls that a fit makes inside the package, the modules it enters, and how deep they nest."""

    def __init__(self, package):
        self.calls, self.modules, self.depth, self._package = 0, set(), 0, package

    def __call__(self, frame, event, argument):
        del argument
        if event != "call" or not frame.f_code.co_filename.startswith(self._package):
            return
        self.calls += 1
        self.modules.add(frame.f_code.co_filename)
        inside = 0
        while frame is not None:
            inside += frame.f_code.co_filename.startswith(self._package)
            frame = frame.f_back
        self.depth = max(self.depth, inside)


def of_package():
    """Numbers of the installed package: its face, and what a warm fit of the functional mechanism does."""
    dplr = importlib.import_module("dplr")
    public = [name for name in _public_modules() if name != "dplr"]
    numbers = {
        "parameters_of_fit": len(inspect.signature(dplr.fit).parameters),
        "names": len(dplr.__all__),
        "names_elsewhere": sum(len(importlib.import_module(name).__all__) for name in public),
    }
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (5000, 5))
    y = X @ np.arange(1, 6) + rng.normal(size=5000) > 0
    options = {"mechanism": "fm", "eps": 0.8, "bounds": dplr.Bounds([(-1.0, 1.0)] * 5)}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ledger = dplr.Ledger(pathlib.Path(folder) / "size.ledger", eps=1e6)
        for words, paid in (("fit", {}), ("paid_fit", {"ledger": ledger})):
            dplr.fit(X, y, **options, **paid)
            story = _Story(str(pathlib.Path(dplr.__file__).parent))
            before = sys.getprofile()
            sys.setprofile(story)
            try:
                dplr.fit(X, y, **options, **paid)
            finally:
                sys.setprofile(before)
            numbers |= {f"calls_of_a_{words}": story.calls, f"modules_of_a_{words}": len(story.modules)}
            numbers[f"depth_of_a_{words}"] = story.depth
    return numbers


def _public_modules():
    text = (ROOT / "docs" / "reference" / "public.toml").read_text(encoding="utf-8")
    return re.findall(r'^ +"(dplr[\w.]*)"', text, re.MULTILINE)
