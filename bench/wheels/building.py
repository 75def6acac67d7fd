"""Source distribution and wheels for Linux: built, repaired, stripped and checked."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent
# Free-threaded Python has no stable ABI before 3.15: its wheel is for one version.
ONE_VERSION = "-Csetup-args=-Dpython.allow_limited_api=false"


def build_all(free_threaded: Sequence[str], out: Path, source: Path = ROOT) -> list[Path]:
    """The source distribution, and of it a wheel for CPython 3.11 and later and one for each free-threaded Python."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", str(out), str(source))
    archive = newest(out, "*.tar.gz")
    made = [build(sys.executable, archive, out)]
    made += [build(python, archive, out, ONE_VERSION) for python in free_threaded]
    check(archive, made)
    return made


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
    subprocess.run(command, env={"SOURCE_DATE_EPOCH": last_commit(), **os.environ, "PATH": path}, check=True)


def last_commit() -> str:
    """Seconds from 1970 to the last commit."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
