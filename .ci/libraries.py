"""The libraries of some extras of pyproject.toml, for pip: CI fetches them while the package compiles."""

import re
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]


def libraries(names):
    """Requirements of extras; those that name extras of this package are taken apart."""
    for name in names:
        for requirement in project["optional-dependencies"][name]:
            inner = re.fullmatch(r"dplr\[(.*)\]", requirement)
            if inner:
                yield from libraries(inner[1].split(","))
            else:
                yield requirement


print("\n".join(dict.fromkeys([*project["dependencies"], *libraries(sys.argv[1:])])))
