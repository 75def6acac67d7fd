"""Builds the site: ``python docs/site/build.py OUT``, with ``--links`` to follow the links to other hosts too."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

import layout
import links
import pages
import queries

SITE = Path(__file__).parent
SOURCE = SITE.parents[1] / "build" / "docs" / "source"


def main() -> int:
    """Lay out the source, build it with warnings as errors, follow every link, and ask the search; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--links", action="store_true", help="also ask other hosts whether their pages exist")
    options = parser.parse_args()
    layout.lay_out(SOURCE)
    common = ["-c", str(SITE), "-d", str(SOURCE.with_name("doctrees")), str(SOURCE)]
    failed = sphinx(["-b", "html", "-W", "--keep-going", "-q", *common, str(options.out)])
    found = [*links.faults(options.out, pages.address("Documentation")), *queries.faults(options.out)]
    print("\n".join(found), file=sys.stderr)
    failed = failed or bool(found)
    if options.links and not failed:
        failed = sphinx(["-b", "linkcheck", "-q", *common, str(SOURCE.with_name("linkcheck"))])
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
