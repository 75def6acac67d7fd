"""Every figure and table of the four papers, and the frontier.

    DPLR_DATA=<folder> python -m bench.papers [--quick] [--fresh] [--draw] [figure …]

measures (or resumes), writes CSV and pictures to docs/papers, and renews the tables in the pages. `--quick` measures
a part, writes to build/papers-quick, and compares it with the committed numbers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time

from bench.papers import check, pages
from bench.papers.figure import figure_of
from bench.papers.run import QUICK, WORK, Report, run

# In this order: the last ones are made of those before them.
FIGURES: tuple[str, ...] = (
    "cm08/figure1",
    "cm08/figure2ab",
    "cm08/figure2cd",
    "cm08/errors",
    "cms11/tradeoff",
    "cms11/learning",
    "cms11/tuning",
    "cms11/errors",
    *(f"fm12/figure{number}" for number in range(2, 10)),
    "fm12/errors",
    "hha23/table1",
    *(f"hha23/figure{number}" for number in range(4, 12)),
    "hha23/errors",
    "frontier/adult",
    "frontier/acs_2k",
    "frontier/acs_20k",
    "frontier/acs_200k",
    "frontier/kdd",
    "frontier/heart",
    "frontier/income",
    "frontier/summary",
    "frontier/losses",
    "index/overview",
)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.papers", description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", metavar="figure", help=f"all of them by default: {', '.join(FIGURES)}")
    parser.add_argument("--quick", action="store_true", help="a part of the cells, held against the committed numbers")
    parser.add_argument("--fresh", action="store_true", help="measure again what is finished")
    parser.add_argument("--draw", action="store_true", help="measure nothing: pictures and tables of what is committed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core")
    given = parser.parse_args()
    unknown = sorted(set(given.figures) - set(FIGURES))
    if unknown:
        parser.error(f"no figure is called {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    names = given.figures or list(FIGURES)
    if given.draw:
        for name in names:
            pages.show(figure_of(name))
        return 0
    if given.fresh:
        for name in names:
            (QUICK if given.quick else WORK).joinpath(f"{name}.jsonl").unlink(missing_ok=True)
    start = time.perf_counter()
    reports = run(names, quick=given.quick, processes=given.processes)
    if not given.quick:
        for report in reports:
            if not report.skipped:
                pages.show(figure_of(report.name))
    _say(reports, time.perf_counter() - start)
    far = given.quick and _compared(reports)
    return int(far or any(report.skipped for report in reports))


def _say(reports: list[Report], seconds: float) -> None:
    """A line for each figure."""
    width = min(shutil.get_terminal_size().columns, 100)
    print(f"{'figure':<24}{'cells':>8}{'measured now':>14}{'work, s':>10}")
    for report in reports:
        if report.skipped:
            print(f"{report.name:<24}  skipped: {report.skipped}"[:width])
        else:
            print(f"{report.name:<24}{report.cells:>8}{report.measured:>14}{report.seconds:>10.1f}")
    print(f"{seconds:.0f} s in all")
    skipped = sum(bool(report.skipped) for report in reports)
    if skipped:
        remedy = "`make data` writes the real data to build/data, which DPLR_DATA must then name"
        print(f"{skipped} of {len(reports)} figures skipped, which is no success: {remedy}")


def _compared(reports: list[Report]) -> bool:
    """Whether a number of a quick run is too far from the committed one."""
    found = [
        f"{each.name}: {line}" for each in reports if not each.skipped for line in check.check(figure_of(each.name))
    ]
    measured = sum(not report.skipped for report in reports)
    print("\n".join(found) or f"{measured} figures are within the error bars of the committed numbers")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
