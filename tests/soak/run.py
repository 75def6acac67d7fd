"""What runs for long: ``python tests/soak/run.py [fits] [kills] [draws] [--short]``.

The exit status is 1 where a limit breaks.

With ``--record`` a line per figure is appended to ``bench/results/soak.csv``.
"""

import argparse
import datetime
import pathlib
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.helpers.run_log import append, commit  # noqa: E402
from tests.soak import draws, kills, many_fits  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "soak.csv"
FIELDS = ["date", "commit", "part", "subject", "count", "seconds", "figure", "value", "limit", "wrong"]
# Of the whole soak, and of the short one: fits and their seconds, seconds of kills, draws and seconds of each law.
LONG = {"fits": (100_000, 7200), "kills": 600, "draws": (10**8, 300)}
SHORT = {"fits": (400, 120), "kills": 5, "draws": (10**6, 3)}
# Bytes in memory per fit. In a short run the allocator has not settled: a leaked array of results would still be seen.
LARGEST_SLOPE = {False: 50, True: 10_000}
LARGEST_OBJECTS = 0.5  # Python objects, or blocks of memory, more per fit: a leaked one would be 1
LARGEST_BLOCKS = {False: LARGEST_OBJECTS, True: 50}  # in a short run caches of rare mechanisms are still filled


def soak_fits(short, amounts):
    with tempfile.TemporaryDirectory(prefix="dplr-soak-") as folder, warnings.catch_warnings(action="ignore"):
        found = many_fits.soak(folder, *amounts)
    size = found["fits"], found["seconds"]
    yield "memory", *size, "bytes per fit", round(found["bytes per fit"], 2), LARGEST_SLOPE[short]
    yield "memory", *size, "Python blocks per fit", round(found["blocks per fit"], 4), LARGEST_BLOCKS[short]
    yield "memory", *size, "Python objects per fit", round(found["objects per fit"], 4), LARGEST_OBJECTS
    yield "noise", *size, "releases equal to another one", found["repeats"], 0
    yield f"ledger of {found['entries']} entries", *size, "eps unaccounted for", float(found["unaccounted"]), 0


def soak_kills(short, seconds):
    found = kills.soak(seconds)
    for fault in found["faults"]:
        print("WRONG", fault)
    subject = f"{found['kills']} kills of 16 processes, {found['refused']} refusals"
    size = found["asked"], found["seconds"]
    yield subject, *size, f"faults in {found['comparisons']} comparisons with the journal", len(found["faults"]), 0


def soak_draws(short, amounts):
    for name in draws.LAWS:
        done, seconds, chance = draws.count(name, *amounts)
        yield name, done, seconds, "p-value", float(f"{chance:.3g}"), draws.SIGNIFICANT


PARTS = {"fits": soak_fits, "kills": soak_kills, "draws": soak_draws}


def is_wrong(figure, value, limit):
    """A p-value must not be below its limit, all else not above it."""
    return value < limit if figure == "p-value" else value > limit


def lines(names, short):
    """A dictionary per figure, in the order of FIELDS."""
    about = {"date": datetime.date.today().isoformat(), "commit": commit()}
    for name in names:
        for subject, number, seconds, figure, value, limit in PARTS[name](short, (SHORT if short else LONG)[name]):
            wrong = int(is_wrong(figure, value, limit))
            row = [name, subject, number, round(seconds, 1), figure, value, limit, wrong]
            yield about | dict(zip(FIELDS[2:], row, strict=True))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--short", action="store_true", help="half a minute instead of hours")
    parser.add_argument("--record", action="store_true", help=f"append to {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--seconds", type=float, help="the most seconds for each part, or each law")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if options.seconds:
        LONG.update(fits=(LONG["fits"][0], options.seconds), kills=options.seconds, draws=(10**8, options.seconds))
    wrong = 0
    for line in lines(options.parts or list(PARTS), options.short):
        print(*(line[field] for field in FIELDS[2:]), sep=" | ", flush=True)
        wrong += line["wrong"]
        if options.record:
            append(line, RESULTS)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
