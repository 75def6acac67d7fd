"""A tag may be published if it names the version and its commit is on main: ``python .ci/tagged.py v1.2.3``."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
MAIN = "origin/main"


def version():
    """The version of the package: its home is meson.build."""
    return re.search(r"^  version: '([^']+)',$", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]


def faults(tag, root=ROOT, main=MAIN):
    """A sentence for each rule that the tag breaks."""
    found = []
    if tag != f"v{version()}":
        found.append(f"the tag must be v{version()}, after the version in meson.build; got {tag}")
    ancestor = ["git", "merge-base", "--is-ancestor", f"{tag}^{{commit}}", main]
    if subprocess.run(ancestor, cwd=root, check=False).returncode:
        found.append(f"the commit of the tag must be on {main}; {tag} is not: merge first, then tag what was merged")
    return found


if __name__ == "__main__":
    sentences = faults(sys.argv[1])
    print(*sentences or ["The tag is the version, and its commit is on main."], sep="\n")
    sys.exit(bool(sentences))
