"""What is public, and where its docstrings have gaps: `python tests/helpers/public_api.py` prints them, one per line.

A gap is a code of numpydoc.validate, or one of ours:

XP  no Privacy section; every class and function needs one, and every method that takes rows, a path or a ledger
XR  no Raises section, although the code raises or checks a parameter
XA  an attribute without a type and a description that ends with a full stop, or a constant without words of its own
XD  a default that the type does not state as `default=...`, or states otherwise
XM  marks that reStructuredText misreads, such as a lone * or a name that ends with _
XS  sections that numpydoc cannot parse
->  a result whose class is not public
"""

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import io
import pathlib
import sys
import textwrap
import tomllib
import typing

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.directives.admonitions import Note
from numpydoc.docscrape import NumpyDocString, get_doc_object
from numpydoc.docscrape_sphinx import SphinxDocString
from numpydoc.validate import validate

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))

from privacy_section import is_private_member, learn  # noqa: E402


class Only(Directive):
    """For one kind of output: shown nowhere here."""

    optional_arguments, has_content = 1, True

    def run(self):
        return []


learn()
roles.register_generic_role("obj", nodes.literal)  # Sphinx has these, docutils has not
directives.register_directive("seealso", Note)
directives.register_directive("only", Only)

PUBLIC = tomllib.loads((ROOT / "docs" / "reference" / "public.toml").read_text())["modules"]
# Codes that are switched off, with the reason.
NOT_ASKED = {
    "ES01": "One sentence is enough where the sections say the rest.",
    "GL01": "The summary begins right after the quotes, which old versions of numpydoc refuse.",
}
NOT_ASKED_OF_MEMBERS = {
    "EX01": "The example of the class shows its methods.",
    "SA01": "A method stands beside its neighbours.",
}
# Parameters by which private rows, files or budgets come in.
TOUCHES = {"X", "y", "data", "rows", "person", "sample_weight", "path", "ledger", "table", "statements"}


def public_names(module):
    """Dotted names of what a public module offers."""
    return [f"{module}.{name}" for name in importlib.import_module(module).__all__]


def load(dotted):
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


@functools.cache
def objects():
    """Every public class and function once: its first dotted name, and itself."""
    found = {}
    for module in PUBLIC:
        for dotted in public_names(module):
            thing = load(dotted)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(thing, dotted)
    return [(dotted, thing) for thing, dotted in found.items()]


def function_of(member):
    """The function of a method or property, or None for other attributes."""
    for inner in ("__func__", "fget", "func", "fn"):
        member = getattr(member, inner, None) or member
    return inspect.unwrap(member) if inspect.isfunction(member) else None


def own_classes(cls):
    return [base for base in cls.__mro__ if base.__module__.split(".")[0] == "dplr"]


def members(cls):
    """Methods and properties that dplr defines: name, function and what is documented, unless they are private."""
    for name in sorted({name for base in own_classes(cls) for name in vars(base) if not is_private_member(cls, name)}):
        found = next(vars(base)[name] for base in own_classes(cls) if name in vars(base))
        function = function_of(found)
        if function is not None and function.__module__.startswith("dplr"):
            is_property = isinstance(found, (property, functools.cached_property))
            yield name, function, found if is_property else function


def sections(thing):
    return NumpyDocString(inspect.cleandoc(thing.__doc__ or ""))


def fields(cls):
    if dataclasses.is_dataclass(cls):
        return {field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")}
    return set(getattr(cls, "_fields", ()))


def documented(doc, *titles):
    return {name for title in titles for part in doc[title] for name in part.name.split(", ")}


@functools.cache
def syntax(function):
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def raises(function):
    """Whether the code raises, or hands a parameter to a check."""
    for node in ast.walk(syntax(function)):
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called.startswith(("check_", "_check", "refuse")):
                return True
    return False


def numpydoc_codes(thing, ignored):
    """The codes of numpydoc's validation; those of parameters once per parameter."""
    return [code for code, _ in validate(get_doc_object(thing))["errors"] if code not in ignored]


def wrong_defaults(function, doc):
    """Names of parameters whose type does not end with their default."""
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    for part in doc["Parameters"]:
        for name in part.name.split(", "):
            default = defaults.get(name, inspect.Parameter.empty)
            shown = f'"{default}"' if isinstance(default, str) and '"' not in default else repr(default)
            if default is inspect.Parameter.empty:
                if "default=" in part.type:
                    yield name
            elif not part.type.endswith(f", default={shown}"):
                yield name


def misread(thing):
    """Warnings of docutils about a docstring as the site shows it."""
    warnings = io.StringIO()
    settings = {"report_level": 2, "halt_level": 6, "warning_stream": warnings}
    shown = SphinxDocString(inspect.cleandoc(thing.__doc__ or ""))
    publish_doctree("\n".join([str(shown), "", *shown["Privacy"]]), settings_overrides=settings)
    return warnings.getvalue().splitlines()


def is_exception(thing):
    return inspect.isclass(thing) and issubclass(thing, Exception)


def unparsed(gaps_of):
    """The gaps of a docstring, or XS where numpydoc cannot parse it."""

    @functools.wraps(gaps_of)
    def found(thing, *rest):
        try:
            sections(thing)
        except ValueError:
            return ["XS"]
        return gaps_of(thing, *rest)

    return found


@unparsed
def gaps_of_class(cls):
    ignored = {**NOT_ASKED, **({"SA01": "", "EX01": "", "PR01": ""} if is_exception(cls) else {})}
    doc = sections(cls)
    attributes = documented(doc, "Attributes")
    not_made = issubclass(cls, enum.Enum) or getattr(cls, "_is_protocol", False)
    if not_made or (fields(cls) and fields(cls) <= attributes):
        ignored["PR01"] = (
            "Fields are documented as attributes, and nobody makes a protocol or a value of an enumeration."
        )
    codes = [] if "__doc__" in vars(cls) else ["GL08"]
    codes += numpydoc_codes(cls, ignored)
    codes += ["XA" for part in doc["Attributes"] if not part.type or not "".join(part.desc).endswith(".")]
    maker = next((vars(cls)[name] for name in ("__init__", "__post_init__") if name in vars(cls)), None)
    written = maker is not None and inspect.unwrap(maker).__code__.co_filename != "<string>"  # and not generated
    made_here = written and getattr(maker, "__module__", "").startswith("dplr")
    codes += ["XM" for _ in misread(cls)]
    codes += [] if is_exception(cls) else ["XD" for _ in wrong_defaults(cls, doc)]
    if made_here and raises(maker) and not doc["Raises"]:
        codes.append("XR")
    return codes if doc["Privacy"] else [*codes, "XP"]


@unparsed
def gaps_of_function(function, shown, ignored, privacy):
    codes = numpydoc_codes(shown, ignored)
    doc = sections(function)
    codes += ["XM" for _ in misread(function)]
    codes += ["XD" for _ in wrong_defaults(function, doc)]
    if raises(function) and not doc["Raises"]:
        codes.append("XR")
    if privacy and not doc["Privacy"]:
        codes.append("XP")
    return codes


def undescribed_constants(module):
    """Constants and type aliases of `__all__` whose assignment no string follows."""
    for dotted in public_names(module):
        thing = load(dotted)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            continue
        home = importlib.import_module(module)
        name = dotted.rpartition(".")[2]
        if not _described(home, name):
            yield dotted


def _described(module, name):
    body = ast.parse(inspect.getsource(module)).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ImportFrom) and name in {alias.asname or alias.name for alias in node.names}:
            return _described(importlib.import_module(node.module), name)
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if name in {getattr(target, "id", "") for target in targets}:
            return isinstance(following, ast.Expr) and isinstance(getattr(following.value, "value", None), str)
    return False


def gaps_of_public(thing):
    """Codes of a public function."""
    return gaps_of_function(inspect.unwrap(thing), thing, NOT_ASKED, True)


def gaps_of_members(cls, seen):
    """Gaps of the methods and properties of a class that are not in `seen`, which grows."""
    for _, function, shown in members(cls):
        if function not in seen:
            seen.add(function)
            takes = set(inspect.signature(function).parameters) & TOUCHES
            for code in gaps_of_function(function, shown, {**NOT_ASKED, **NOT_ASKED_OF_MEMBERS}, takes):
                yield f"{function.__module__}.{function.__qualname__} {code}"


def gaps():
    """All gaps as sorted lines: home of the object, and a code."""
    found = [f"{dotted} XA" for module in PUBLIC for dotted in undescribed_constants(module)]
    seen = set()
    for dotted, thing in objects():
        if inspect.isclass(thing):
            found += [f"{dotted} {code}" for code in gaps_of_class(thing)]
            found += gaps_of_members(thing, seen)
        else:
            found += [f"{dotted} {code}" for code in gaps_of_public(thing)]
    return sorted([*found, *private_results()])


@functools.cache
def classes_of_the_package():
    """Names of the classes that modules of dplr define, and whether each is public."""
    import pkgutil

    import dplr

    public = {thing for _, thing in objects() if inspect.isclass(thing)}
    found = {}
    for info in pkgutil.walk_packages(dplr.__path__, "dplr."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if inspect.isclass(value) and value.__module__.startswith("dplr"):
                found[name] = found.get(name, False) or value in public
    return found


def private_results():
    """Public functions and methods whose annotation says that they return an object of a private class."""
    known = classes_of_the_package()
    for dotted, thing in objects():
        functions = [(dotted, thing)]
        if inspect.isclass(thing):
            functions = [(f"{dotted}.{name}", function) for name, function, _ in members(thing)]
        for name, function in functions:
            returned = function.__annotations__.get("return", "")
            text = returned if isinstance(returned, str) else typing.get_type_hints(function).get("return", "")
            names = {node.id for node in ast.walk(ast.parse(str(text))) if isinstance(node, ast.Name)}
            for result in sorted(names):
                if not known.get(result, True):
                    yield f"{name} -> {result}"


if __name__ == "__main__":
    print("\n".join(gaps()))
