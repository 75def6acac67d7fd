"""How long does `dplr fit` take for one table in the formats that it reads, and in how much memory?

    python -m bench.scale.office_files /folder/for/files bench/results/office_files.csv --rows 2000000

Every figure is that of a whole process, as in `bench.scale.csv_files`; `start` is the fit of a thousand rows.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

import pyarrow as pa
import pyreadstat
from pyarrow import csv as arrow_csv

from bench.data import large
from bench.scale.csv_files import bounds_file, csv_file, measured
from bench.scale.written import write_rows

ENDINGS = ("csv", "csv.gz", "csv.zst", "commas.csv", "sav", "zsav", "dta")


def compressed(path: Path, codec: str, ending: str) -> None:
    """The file compressed beside it, unless it is there."""
    target = path.with_name(path.name + ending)
    if not target.exists():
        with open(path, "rb") as source, pa.output_stream(target, compression=codec) as sink:
            while data := source.read(1 << 20):
                sink.write(data)


def written(folder: Path, kind: str, rows: int) -> Path:
    """The CSV file of a table, with the others beside it."""
    path = csv_file(folder, kind, rows)
    compressed(path, "gzip", ".gz")
    compressed(path, "zstd", ".zst")
    if not path.with_suffix(".dta").exists():
        table = arrow_csv.read_csv(path).to_pandas()
        table[large.TARGET] = table[large.TARGET].astype(float)
        pyreadstat.write_sav(table, os.fspath(path.with_suffix(".sav")))
        pyreadstat.write_sav(table, os.fspath(path.with_suffix(".zsav")), compress=True)
        table.to_csv(path.with_suffix(".commas.csv"), index=False, sep=";", decimal=",")
        pyreadstat.write_dta(table, os.fspath(path.with_suffix(".dta")))
    return path


def tasks(folder: Path, kind: str, rows: int) -> dict[str, tuple[int, list[str]]]:
    """What is measured: name -> bytes of the file, and command."""
    path, bounds = written(folder, kind, rows), bounds_file(folder, kind)
    numbers = bounds.with_suffix(".numbers.toml")  # files of SPSS and Stata have numbers, and no booleans
    numbers.write_text(bounds.read_text().replace("[false, true]", "[0, 1]"))
    files = {"start": csv_file(folder, kind, 1000), **{each: path.with_suffix(f".{each}") for each in ENDINGS}}
    found = {}
    for name, file in files.items():
        command = [sys.executable, "-m", "dplr", "fit", os.fspath(file), "--target", large.TARGET, "--eps", "1"]
        command += ["--mechanism", "fm", "-o", os.fspath(folder / "model.json"), "--overwrite", "--bounds"]
        command += [os.fspath(numbers if "csv" not in file.name else bounds)]
        command += ["--delimiter", ";", "--decimal", ","] if "commas" in name else []
        found[name] = (file.stat().st_size, command)
        if name == "csv.gz":
            command = ["-" if part == os.fspath(file) else part for part in command]
            piped = f"exec {shlex.join(command)} < {shlex.quote(os.fspath(file))}"
            found["csv.gz, standard input"] = (file.stat().st_size, ["sh", "-c", piped])
    return found


def main() -> None:
    """Measure each in turn, `--repeats` times; the quickest counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--kinds", nargs="*", default=["census"])
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    table = []
    for kind in given.kinds:
        for name, (size, command) in tasks(given.folder, kind, given.rows).items():
            found = min((measured(command) for _ in range(given.repeats)), key=lambda each: each["cpu_seconds"])
            table.append({"kind": kind, "rows": given.rows, "file": name, "mb": size / 1e6, **found})
            print({key: round(value, 2) if isinstance(value, float) else value for key, value in table[-1].items()})
            sys.stdout.flush()
    if given.output:
        write_rows(given.output, table)


if __name__ == "__main__":
    main()
