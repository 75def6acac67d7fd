"""What numpydoc has to know of our docstrings: the section `Privacy`, and what is marked private.

The tests call `learn`, and Sphinx calls `setup`. Both read docstrings in the same way.
"""

import inspect
import sys

from numpydoc import validate
from numpydoc.docscrape import NumpyDocString


def learn():
    """Teach numpydoc's parser and its checks the section `Privacy`, which stands after `Warnings`."""
    NumpyDocString.sections.setdefault("Privacy", [])
    if "Privacy" not in validate.ALLOWED_SECTIONS:
        validate.ALLOWED_SECTIONS.insert(validate.ALLOWED_SECTIONS.index("See Also"), "Privacy")


def is_private(thing):
    """Whether the first paragraph of a docstring ends with "Private."."""
    paragraph = inspect.cleandoc(getattr(thing, "__doc__", None) or "").split("\n\n")[0]
    return paragraph.endswith("Private.")


def is_private_member(cls, name):
    """Whether a member of a class is private: by its name, its mark, or that of a class which declares it."""
    declared = [(base, vars(base)[name]) for base in cls.__mro__ if name in vars(base)]
    return name.startswith("_") or any(is_private(base) or is_private(member) for base, member in declared)


def is_skipped(member):
    """Whether autodoc leaves out a function or property, which knows the name of its class."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    owner, _, name = getattr(function, "__qualname__", "").rpartition(".")
    cls = getattr(sys.modules.get(getattr(function, "__module__", None)), owner, None)
    return inspect.isclass(cls) and is_private_member(cls, name)


def setup(app):
    """Let Sphinx show the section, ahead of `Notes`, and leave out members that are marked private."""
    from numpydoc.docscrape_sphinx import SphinxDocString

    learn()
    section = SphinxDocString._str_section

    def with_privacy(self, name):
        privacy = section(self, "Privacy") if name == "Notes" else []
        return privacy + section(self, name)

    SphinxDocString._str_section = with_privacy
    app.connect("autodoc-skip-member", lambda _app, _what, _name, member, skip, _options: skip or is_skipped(member))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
