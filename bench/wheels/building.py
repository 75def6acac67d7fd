"""Source distribution and wheels for Linux: built, repaired, stripped and checked.

    python -m bench.wheels.building FOLDER

makes the source distribution of the last commit, as it is published.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
# Free-threaded Python has no stable ABI before 3.15: its wheel is for one version.
ONE_VERSION = "-Csetup-args=-Dpython.allow_limited_api=false"

# A wheel keeps the rights of the files that it is made of.
RIGHTS = 0o022


def build_all(free_threaded: Sequence[str], out: Path, source: Path = ROOT) -> list[Path]:
    """The source distribution, and of it a wheel for CPython 3.11 and later and one for each free-threaded Python."""
    archive = source_distribution(out, source)
    made = [build(sys.executable, archive, out)]
    made += [build(python, archive, out, ONE_VERSION) for python in free_threaded]
    check(archive, made)
    return made


def source_distribution(out: Path, source: Path = ROOT) -> Path:
    """The last commit, with the links of its README as addresses: a package page shows it, where no file lies beside.

    They are written in a copy, and committed there: a source distribution is made of commits.
    """
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, "source")
        git(Path(name), "clone", "-q", str(source), str(copy))
        run(sys.executable, str(copy / "docs" / "site" / "package_page.py"))
        git(copy, "commit", "-q", "-a", "-m", "Links for a package page")
        run(sys.executable, "-m", "build", "--sdist", "--outdir", str(out), str(copy))
    return newest(out, "*.tar.gz")


def build(python: str, archive: Path, out: Path, *options: str) -> Path:
    """A wheel that any Linux since 2014 can load; auditwheel refuses one that needs a newer C library."""
    raw = out / "unrepaired"
    run(python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(raw), *options, str(archive))
    plat = f"manylinux2014_{platform.machine()}"
    run("auditwheel", "repair", "--strip", "--plat", plat, "--wheel-dir", str(out), str(newest(raw, "*.whl")))
    return newest(out, "*.whl")


def check(archive: Path, wheels: Sequence[Path]) -> None:
    """Metadata, contents, and that a wheel with the tag abi3 calls nothing else."""
    names = [str(wheel) for wheel in wheels]
    run("twine", "check", "--strict", str(archive), *names)
    run("check-wheel-contents", *names)
    run("abi3audit", "--strict", *(name for name in names if "-abi3-" in name))


def newest(folder: Path, pattern: str) -> Path:
    """What was just made."""
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime_ns)


def run(*command: str) -> None:
    """Run a tool of this environment, or end. Files in archives have the time of the last commit."""
    path = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": last_commit(), "PATH": path}
    subprocess.run(command, env=environment, umask=RIGHTS, check=True)


def git(folder: Path, *command: str) -> None:
    """Run git in a folder, in the name of nobody and at the time of the last commit."""
    who = {"NAME": "dplr", "EMAIL": "dplr@example.org", "DATE": f"@{last_commit()} +0000"}
    names = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    subprocess.run(["git", *command], cwd=folder, env={**os.environ, **names}, umask=RIGHTS, check=True)


def last_commit() -> str:
    """Seconds from 1970 to the last commit, or what SOURCE_DATE_EPOCH says."""
    if told := os.environ.get("SOURCE_DATE_EPOCH"):
        return told
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    source_distribution(Path(sys.argv[1]).resolve())
