"""Compare files of a release with .ci/artifacts.txt, and write hashes: ``python .ci/artifacts.py dist SHA256SUMS``."""

import fnmatch
import hashlib
import pathlib
import sys

from tagged import version

LIST = pathlib.Path(__file__).with_suffix(".txt")


def patterns():
    """One for each file of a release of this version."""
    lines = LIST.read_text().splitlines()
    return [line.format(version=version()) for line in lines if line and not line.startswith("#")]


def faults(names):
    """A sentence for each pattern without a file or with several, and for each file without a pattern."""
    matching = {pattern: fnmatch.filter(names, pattern) for pattern in patterns()}
    found = [f"one file must match {pattern}; got {files}" for pattern, files in matching.items() if len(files) != 1]
    expected = {name for files in matching.values() for name in files}
    return found + [f"{name} is no file of a release" for name in names if name not in expected]


def sums(folder):
    """Hashes, as sha256sum checks them in the folder."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    return "".join(lines)


def main(folder, out):
    """Compare, print, write; the exit status."""
    sentences = faults(sorted(path.name for path in folder.iterdir()))
    print(*sentences or [f"All {len(patterns())} files of a release are there."], sep="\n")
    if not sentences:
        out.write_text(sums(folder))
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:])))
