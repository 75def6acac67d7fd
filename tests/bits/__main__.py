"""Hashes of everything that must have the same bits on every platform, against those in `hashes.txt`.

``python tests/bits`` compares, and exits with 1 after the names that differ; ``--write`` writes the file anew. It needs
dplr, NumPy, SciPy and narwhals, and neither pytest nor scikit-learn, so that it runs under an emulator.
"""

import argparse
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bits_draws import draws, encoder
from bits_file import faults, read, write
from bits_releases import releases
from bits_sums import sums

from dplr._core import cpu_paths

FILE = pathlib.Path(__file__).with_name("hashes.txt")


def found_hashes():
    """name -> {path: hash}, one hash for what no CPU path computes."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows outside their bounds
        for part in (draws, encoder, sums, releases):
            for name, path, value in part():
                found.setdefault(name, {})[path] = value
    return found


def main():
    """Compare or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the file instead of comparing with it")
    parser.add_argument("--file", type=pathlib.Path, default=FILE)
    asked = parser.parse_args()
    found, paths = found_hashes(), cpu_paths()
    if asked.write:
        write(found, asked.file, paths)
        return
    said = faults(found, read(asked.file), paths)
    print(*said, sep="\n", end="\n" if said else "")
    print(f"{len(found)} hashes on {sys.byteorder}-endian, CPU paths {', '.join(paths)}: {len(said)} faults")
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
