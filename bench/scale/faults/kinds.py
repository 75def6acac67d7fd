"""Faults of files, of this machine and of drivers: each injects one, and hands over the processes that met it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from bench.scale.faults.driver import PLACES, Fault, Process, run
from bench.scale.faults.judge import ERROR, SAME, Case
from bench.scale.faults.world import MECHANISMS, SECRET


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes
    ----------
    inject : runs the case; what it returns are the outcomes that are right.
    count : of faults per mechanism.
    layout : of the files.
    killed : whether it kills drivers.
    returns : whether the budget must be back where no noise was drawn.
    fits : how many the ledger can pay.
    """

    name: str
    inject: Callable[[Case, Any], set[str] | None]
    count: int
    layout: str = "even"
    killed: bool = False
    returns: bool = True
    fits: int = 3
    mechanisms: tuple[str, ...] = MECHANISMS
    cluster: bool = False
    again: bool = False


def at_random(rng: Random, points: dict[str, int], places: tuple[str, ...]) -> tuple[str, int]:
    """A place that an undisturbed fit reaches, and the time at which it is meant: each place is as likely."""
    place = rng.choice([place for place in places if points.get(place)])
    return place, rng.randint(1, points[place])


def change(how: Callable[[Path, Random], None], place: str) -> Callable[[Case, Any], set[str] | None]:
    """A file that is changed when a pass begins, which reads it; or in the middle, when nobody may read it again."""

    def inject(case: Case, points: dict[str, int]) -> set[str] | None:
        path = case.rng.choice(case.world.files)
        fault = Fault(*at_random(case.rng, points, (place,)), lambda: how(path, case.rng))
        case.add(run(case.world, case.world.fit("fit"), "fit", fault))
        return {ERROR} if place == "pass" else None

    return inject


def vanish(path: Path, rng: Random) -> None:
    """Delete the file."""
    path.unlink()


def cut(path: Path, rng: Random) -> None:
    """Cut the file off."""
    os.truncate(path, rng.randrange(path.stat().st_size))


def rewrite(path: Path, rng: Random) -> None:
    """Other rows, in as many bytes: in place, as a program does that writes into the file."""
    size, place = path.stat().st_size, rng.randrange(path.stat().st_size // 2)
    with open(path, "r+b") as file:
        file.seek(place)
        found = file.read(64)
        file.seek(place)
        file.write(bytes(255 - each for each in found))
    assert path.stat().st_size == size


def forge(path: Path, rng: Random) -> None:
    """Another footer, in as many bytes and with the old time: whoever wrote the file is another program now."""
    data, found = path.read_bytes(), path.stat()
    place = data.rindex(b"parquet-cpp-arrow")
    path.write_bytes(data[:place] + b"PARQUET-CPP-ARROW" + data[place + 17 :])
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_size == found.st_size


def shorten(path: Path, rng: Random) -> None:
    """The file without one of its rows, put in its place."""
    table = parquet.read_table(path)
    gone, other = rng.randrange(len(table)), path.with_name(f".{path.name}")
    parquet.write_table(pa.concat_tables([table[:gone], table[gone + 1 :]]), other, row_group_size=2000)
    other.replace(path)


def other_type(case: Case, points: Any) -> set[str]:
    """A column of one file has another type; text where numbers were, too."""
    path, column = case.rng.choice(case.world.files[1:]), case.rng.choice(["age", "income", "rich", "job"])
    table = parquet.read_table(path)
    rows, place = len(table), table.schema.get_field_index(column)
    kinds = {
        "decimals": pa.array([0.5] * rows, pa.float32()),
        "text": pa.array([SECRET] * rows),
        "times": pa.array([0] * rows, pa.timestamp("s")),
        "lists": pa.array([[1]] * rows),
    }
    del kinds["text" if column == "job" else "decimals"]
    kind = case.rng.choice(sorted(kinds))
    parquet.write_table(table.set_column(place, column, kinds[kind]), path)
    case.add(run(case.world, case.world.fit("fit"), "fit"))
    return {ERROR}


def no_rows(case: Case, points: Any) -> set[str]:
    """Files without rows are files like others."""
    case.add(run(case.world, case.world.fit("fit"), "fit"))
    return {SAME}


def no_bytes(case: Case, points: Any) -> set[str]:
    """A file without bytes, or with a header's first bytes alone, may have been cut off."""
    data = case.rng.choice([b"", b"PAR1", b"PAR1PAR1", b"PAR1\0\0\0\0PAR1"])
    name = case.rng.choice(["0a.parquet", "9.parquet", "-.parquet"])
    (case.world.data / name).write_bytes(data)
    case.add(run(case.world, case.world.fit("fit"), "fit"))
    return {ERROR}


def huge(case: Case, points: Any) -> set[str]:
    """One part has nearly all rows, and ends last."""
    case.add(run(case.world, case.world.fit("fit"), "fit"))
    return {SAME}


def little_memory(case: Case, points: dict[str, int]) -> None:
    """From some moment on nearly no memory is left."""
    room = case.rng.choice([0, 2**16, 2**20, 2**22, 2**24])

    def limit() -> None:
        lines = Path("/proc/self/status").read_text().splitlines()
        used = next(int(line.split()[1]) for line in lines if line.startswith("VmData")) * 1024
        resource.setrlimit(resource.RLIMIT_DATA, (used + room, resource.RLIM_INFINITY))

    fault = Fault(*at_random(case.rng, points, ("pass", "rows")), limit)
    case.add(run(case.world, case.world.fit("fit"), "fit", fault))


def stopped(which: signal.Signals) -> Callable[[Case, Any], None]:
    """The driver is killed or interrupted: at a point, or at a time."""

    def inject(case: Case, points: Any) -> None:
        if case.rng.random() < 0.7:
            fault = Fault(*at_random(case.rng, points, PLACES), lambda: os.kill(os.getpid(), which))
            case.add(run(case.world, case.world.fit("fit"), "fit", fault))
            return
        process = Process(case.world, case.world.fit("fit"), "fit")
        time.sleep(case.rng.uniform(0, points["milliseconds"] / 1000))
        process.signal(which)
        case.add(process.wait())

    return inject


def two_drivers(case: Case, points: Any) -> set[str]:
    """Two fits at once, and a budget for one."""
    processes = [Process(case.world, case.world.fit(name), name) for name in ("one", "other")]
    ended = [case.add(process.wait()) for process in processes]
    if sorted(each.status or 0 for each in ended) != [0, 4]:
        case.verdict.wrong.append(f"two fits and a budget for one: {[each.status for each in ended]}")
    return {SAME}


def paused(case: Case, points: dict[str, int]) -> None:
    """A driver is paused; its entry is given back; then the first goes on."""
    place = at_random(case.rng, points, ("pass", "rows", "noise"))
    first = Process(case.world, case.world.fit("one"), "one",
                    Fault(*place, lambda: os.kill(os.getpid(), signal.SIGSTOP)))  # fmt: skip
    os.waitpid(first.pid, os.WUNTRACED)
    run(case.world, ["ledger", "give-back", os.fspath(case.world.ledger_path), "1"], "gives")
    first.signal(signal.SIGCONT)
    case.add(first.wait())


def full_disk(case: Case, points: dict[str, int]) -> None:
    """The disk of the ledger has next to no room from some moment on; later it has."""
    disk, filler = case.world.ledger_path.parent, case.world.ledger_path.parent / "others"
    room = case.rng.choice([0, 1, 2, 4, 8, 16]) * 4096

    def fill() -> None:
        if os.path.ismount(disk):
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
            filler.write_bytes(bytes(max(0, free - room)))
        else:
            largest = max(each.stat().st_size for each in disk.iterdir())
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest + room - 4096, resource.RLIM_INFINITY))

    place = ("begin", 1) if case.rng.random() < 0.2 else at_random(case.rng, points, ("pass", "rows", "noise", "save"))
    if place[0] == "begin" and os.path.ismount(disk):
        fill()
    case.add(run(case.world, case.world.fit("fit"), "fit", Fault(*place, fill)))
    filler.unlink(missing_ok=True)


def full_folder(case: Case, points: Any) -> set[str]:
    """The folder of kept rows is full: from the beginning, or while they are written."""
    folder = case.world.folder / "kept"
    folder.mkdir()
    case.world.kept = folder
    size = case.rng.choice([64, 200, 500, 900]) * 1024

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    case.add(run(case.world, case.world.fit("fit"), "fit", Fault("pass", case.rng.randint(1, 2), limit)))
    return {SAME}


class Disk:
    """A small disk in memory for the ledger, where this process may make one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.made = folder, False

    def __enter__(self) -> Disk:
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", os.fspath(self._folder)]
        self.made = not os.geteuid() and not subprocess.run(command, capture_output=True).returncode
        return self

    def __exit__(self, *_: object) -> None:
        if self.made:
            ctypes.CDLL(None).umount2(os.fspath(self._folder).encode(), 2)  # as soon as nobody uses it


CHANGES = {
    "a file vanishes": vanish,
    "a file is cut off": cut,
    "a file is rewritten, same size": rewrite,
    "a file with a row less": shorten,
}
KINDS = [
    *(
        Kind(f"{name}, {when}", change(how, place), count, again=True)
        for name, how in CHANGES.items()
        for when, place, count in (("between passes", "pass", 2), ("within a pass", "rows", 4))
    ),
    Kind("a file has another footer, same size and time", change(forge, "pass"), 2, again=True),
    Kind("a column has another type in a file", other_type, 4),
    Kind("files without rows", no_rows, 2, "gaps"),
    Kind("a file without bytes or footer", no_bytes, 3),
    Kind("one huge part beside tiny ones", huge, 2, "huge"),
    Kind("no memory left (RLIMIT_DATA)", little_memory, 6),
    Kind("driver killed (SIGKILL)", stopped(signal.SIGKILL), 12, killed=True, returns=False),
    Kind("driver interrupted (Ctrl-C)", stopped(signal.SIGINT), 8),
    Kind("two drivers, budget for one", two_drivers, 4, fits=1),
    Kind("driver paused, its entry given back", paused, 5),
    Kind("disk of the ledger full", full_disk, 6, returns=False),
    Kind("folder of kept rows full", full_folder, 6, mechanisms=("ngd",)),
]
