"""Build the last commit twice, in two folders: each archive must have one hash. `make reproducible`.

The second build has another folder, another time zone, another language and other rights of new files. The exit status
is 1 where an archive differs; the members that differ are named.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from bench.wheels.building import ROOT, build_all, git, last_commit

# What a builder has of its own.
FIRST = {"folder": "a", "umask": 0o022, "TZ": "UTC", "LC_ALL": "C"}
SECOND = {"folder": "another/and/a/longer/one", "umask": 0o077, "TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8"}


def main() -> int:
    """Build, compare, print; the exit status."""
    with tempfile.TemporaryDirectory(prefix="dplr-twice-") as name:
        # One commit for both, whatever is committed meanwhile.
        commit, os.environ["SOURCE_DATE_EPOCH"] = Path(name, "commit"), last_commit()
        git(Path(name), "clone", "-q", str(ROOT), str(commit))
        first, second = (built(commit, **builder) for builder in (FIRST, SECOND))
        for archive in first:
            print(hashlib.sha256(archive.read_bytes()).hexdigest(), archive.stat().st_size, archive.name)
        found = faults(first, second)
    print(*found or ["Both builds have the same archives."], sep="\n")
    return int(bool(found))


def built(commit: Path, folder: str, umask: int, **environment: str) -> list[Path]:
    """Archives of a repository's last commit, made in a folder beside it."""
    source, out, temporary = (commit.parent / folder / name for name in ("source", "out", "tmp"))
    temporary.mkdir(parents=True)
    kept, old = dict(os.environ), os.umask(umask)
    os.environ |= environment | {"TMPDIR": str(temporary)}
    try:
        git(temporary, "clone", "-q", str(commit), str(source))
        build_all([], out, source)
    finally:
        os.umask(old)
        os.environ.clear()
        os.environ |= kept
    return sorted([*out.glob("*.tar.gz"), *out.glob("*.whl")])


def faults(first: list[Path], second: list[Path]) -> list[str]:
    """A sentence for each archive that is not the same in both, and for each of its members that is not."""
    names = [[path.name for path in archives] for archives in (first, second)]
    if not first or names[0] != names[1]:
        return [f"two builds must make the same archives; got {names[0]} and {names[1]}"]
    found = []
    for one, other in zip(first, second, strict=True):
        if one.read_bytes() != other.read_bytes():
            differing = differences(members(one), members(other))
            found += [f"{one.name}: {sentence}" for sentence in differing or ["members are the same, the frame is not"]]
    return found


def differences(one: Mapping[str, tuple[object, ...]], other: Mapping[str, tuple[object, ...]]) -> list[str]:
    """Members that differ, and in what."""
    found = [f"{name} is in one build alone" for name in sorted(one.keys() ^ other.keys())]
    for name in sorted(one.keys() & other.keys()):
        parts = zip(("time", "mode", "owner", "content"), one[name], other[name], strict=True)
        found += [f"{part} of {name}" for part, here, there in parts if here != there]
    return found or (["order of members"] if list(one) != list(other) else [])


def members(archive: Path) -> dict[str, tuple[object, ...]]:
    """Time, mode, owner and content of each file."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            return {
                info.filename: (info.date_time, info.external_attr, info.create_system, packed.read(info))
                for info in packed.infolist()
            }
    with tarfile.open(archive) as packed:
        files = [(info, packed.extractfile(info)) for info in packed]
        return {
            info.name: (info.mtime, info.mode, (info.uname, info.gname, info.uid, info.gid), file and file.read())
            for info, file in files
        }


if __name__ == "__main__":
    sys.exit(main())
