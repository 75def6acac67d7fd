"""Attack one door: ``python tests/fuzz/run.py ENTRY --runs 1000000 --seconds 600 [--atheris] [--record]``.

By default cases come from seeded random generators. With ``--atheris`` they are guided by what they reach in `dplr`
(`make fuzz`, in an environment of its own). Exit status 1 where a law was broken.
"""

import argparse
import contextlib
import datetime
import importlib
import pathlib
import random
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE.parent / "helpers")]

from run_log import append, commit  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "fuzz.csv"
FIELDS = ["date", "commit", "entry", "tool", "cases", "seconds", "accepted", "refused", "known", "findings"]
ENTRIES = {
    "arrays": ("arrays", "Door"),
    "tables": ("tables", "Door"),
    "files": ("files", "Door"),
    "bounds": ("declared", "Bounds"),
    "models": ("declared", "Models"),
    "moments": ("declared", "Moments"),
    "ledgers": ("ledgers", "Databases"),
    "outboxes": ("ledgers", "Outboxes"),
    "commands": ("commands", "Door"),
}


def door_of(entry, folder):
    module, name = ENTRIES[entry]
    return getattr(importlib.import_module(f"tests.fuzz.{module}"), name)(folder)


def seeded(entry, runs, seconds, first=0, show=print):
    """Cases number `first`, `first` + 1, ..., each from a generator of its own; a Campaign and the seconds it took."""
    from tests.fuzz.laws import Campaign

    with tempfile.TemporaryDirectory(prefix="dplr-fuzz-") as folder:
        door = door_of(entry, folder)
        with contextlib.suppress(Exception):  # libraries are loaded before the time begins
            door.attack(random.Random(entry))
        campaign = Campaign(door)
        begun = time.monotonic()
        for number in range(first, first + runs):
            if complaint := campaign.attack(random.Random(f"{entry} {number}"), number):
                show(f"FINDING {entry} {number}: {complaint}", flush=True)
            if time.monotonic() - begun > seconds:
                break
        return campaign, time.monotonic() - begun


def guided(entry, runs, seconds):
    """The same by Atheris, which keeps inputs that reach new lines."""
    import atheris

    with atheris.instrument_imports(include=["dplr"], enable_loader_override=False):
        from tests.fuzz import laws

        import dplr  # noqa: F401

        folder = tempfile.mkdtemp(prefix="dplr-fuzz-")
        campaign = laws.Campaign(door_of(entry, folder))
    begun = time.monotonic()

    def one(data):
        number = sum(campaign.counts.values())
        if complaint := campaign.attack(laws.Bytes(data), number):
            print(f"FINDING {entry} {data.hex()}: {complaint}", flush=True)
        if number + 1 >= runs or time.monotonic() - begun > seconds:
            raise KeyboardInterrupt

    corpus = pathlib.Path(folder, "corpus")
    corpus.mkdir()
    for number in range(50):
        (corpus / str(number)).write_bytes(random.Random(number).randbytes(400))
    atheris.Setup([sys.argv[0], str(corpus), "-max_len=4000", "-rss_limit_mb=0", "-handle_int=0"], one)
    return campaign, atheris.Fuzz, begun


def line_of(entry, tool, campaign, seconds):
    counts = campaign.counts
    row = [datetime.date.today().isoformat(), commit(), entry, tool, sum(counts.values())]
    row += [round(seconds, 1), counts["accepted"], counts["refused"], counts["known"], len(campaign.findings)]
    return dict(zip(FIELDS, row, strict=True))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entry", choices=ENTRIES)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--record", action="store_true", help=f"append to {RESULTS.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    if options.atheris:
        campaign, fuzz, begun = guided(options.entry, options.runs, options.seconds)

        def finish():
            line = line_of(options.entry, "atheris", campaign, time.monotonic() - begun)
            print(line, flush=True)
            if options.record:
                append(line, RESULTS)

        import atexit

        atexit.register(finish)
        fuzz()
        return 0
    campaign, seconds = seeded(options.entry, options.runs, options.seconds, options.first)
    line = line_of(options.entry, "seeded", campaign, seconds)
    print(line)
    if options.record:
        append(line, RESULTS)
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
