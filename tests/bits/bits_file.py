"""The file of fixed hashes: reading, writing, and what differs from it."""

import sys

ABOUT = "# sha256 and name of each value; @ the CPU path of rounded sums. Written by: python tests/bits --write"
EVERY_PATH = ("baseline", "neon", "avx2", "avx512")


def read(file):
    """name -> hash"""
    lines = [line.split(maxsplit=1) for line in file.read_text().splitlines() if not line.startswith("#")]
    return {name: value for value, name in lines}


def faults(found, fixed, paths):
    """What differs, is missing, or is not known, in words; hashes of paths that this machine lacks may be missing."""
    said = [
        f"differs: {name}{f' on {path}' if path else ''}"
        for name, by_path in found.items()
        for path, value in by_path.items()
        if name in fixed and value != fixed[name]
    ]
    said += [f"not in the file: {name}" for name in found if name not in fixed]
    lacking = _ends_of_others(paths)
    return said + [f"not computed: {name}" for name in fixed if name not in found and not name.endswith(lacking)]


def write(found, file, paths):
    """Write the file anew; hashes of CPU paths that this machine lacks stay."""
    torn = [name for name, by_path in found.items() if len(set(by_path.values())) > 1]
    if torn:
        sys.exit("CPU paths differ, nothing is written: " + ", ".join(torn))
    lacking = _ends_of_others(paths)
    kept = {name: value for name, value in read(file).items() if name.endswith(lacking)} if file.exists() else {}
    hashes = kept | {name: next(iter(by_path.values())) for name, by_path in found.items()}
    file.write_text("\n".join([ABOUT, *(f"{hashes[name]}  {name}" for name in sorted(hashes))]) + "\n")


def _ends_of_others(paths):
    """How names end that only machines with other CPU paths have."""
    return tuple(f"@{path}" for path in EVERY_PATH if path not in paths)
