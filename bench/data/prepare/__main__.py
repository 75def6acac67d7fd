"""The real data of the studies, made from the files that their sources publish.

    python -m bench.data.prepare FOLDER [--sources FOLDER] [--only adult heart connections census]

fetches what the folder of sources lacks (the census: 98 archives, some 600 MB), makes a table of each and writes it to
FOLDER, which DPLR_DATA then names. A table is written only where its rows are those of the committed figures.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import pathlib
import shutil
import sys
import tomllib
import urllib.error
import urllib.request
from typing import Any

import pandas as pd

SETS: dict[str, Any] = tomllib.loads((pathlib.Path(__file__).parent / "sources.toml").read_text())
SECONDS = 60  # without a byte from the other side


class OtherRows(ValueError):
    """Rows that are not those of the committed figures."""


def digest(table: pd.DataFrame) -> str:
    """SHA-256 of a table as text: of its rows and columns, whatever the types and the format of the file."""
    plain = table.astype(dict.fromkeys(table.select_dtypes("number"), "float64"))
    return hashlib.sha256(plain.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def fetch(addresses: dict[str, str], folder: pathlib.Path) -> None:
    """Bring the archives that are not in the folder; one that breaks off leaves nothing there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, address in addresses.items():
        path = folder / name
        if path.exists():
            continue
        part = path.with_suffix(".part")
        with urllib.request.urlopen(address, timeout=SECONDS) as source, part.open("wb") as file:
            shutil.copyfileobj(source, file)
        part.rename(path)


def addresses(name: str) -> dict[str, str]:
    """The archives of a data set and where they are published."""
    archives: dict[str, str] = SETS[name]["archives"]
    module = importlib.import_module(f"bench.data.prepare.{name}")
    places = getattr(module, "STATES", [""])
    return {key.format(state=each): address.format(state=each) for key, address in archives.items() for each in places}


def prepare(name: str, sources: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Write the tables of a data set whose rows are the expected ones; a line for each."""
    lines = []
    for file, table in importlib.import_module(f"bench.data.prepare.{name}").read(sources).items():
        expected = SETS[name]["tables"][file]
        if digest(table) != expected:
            raise OtherRows(
                f"`{file}` must have the rows of the committed figures; got {len(table):,} rows with digest "
                f"{digest(table)}, not {expected}: compare the archives with an older copy"
            )
        folder.mkdir(parents=True, exist_ok=True)
        table.to_parquet(folder / file, index=False, compression="zstd")
        lines.append(f"{file:<24}{len(table):>9,} rows, those of the committed figures")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.data.prepare", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where the tables go")
    parser.add_argument("--sources", type=pathlib.Path, default=pathlib.Path("build/data/sources"), metavar="FOLDER",
                        help="archives as published; what is not there is fetched (default: %(default)s)")  # fmt: skip
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), help="data sets; default: all")
    options = parser.parse_args(arguments)
    failures = 0
    for name in options.only:
        try:
            fetch(addresses(name), options.sources)
            print("\n".join(prepare(name, options.sources, options.folder)))
        except (OSError, ValueError, KeyError) as error:
            failures += 1
            print(f"{name}: {error}", file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
