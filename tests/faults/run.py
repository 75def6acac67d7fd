"""Inject faults into the ledger and print what became of them: python tests/faults/run.py [--short]

Needs Linux and a C compiler. Every process under test keeps a journal; after its fault the ledger is compared with it.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
SYNC, WRITE, NAME = 1, 2, 4
MODES = {"before": 0, "after": 1, "torn": 2, "no space": 3, "I/O error": 4}


def build(folder):
    """Compile the shim."""
    library = os.path.join(folder, "shim.so")
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-shared", "-fPIC", "-O1", "-o", library, str(HERE / "shim.c"), "-ldl"], check=True)
    return library


class Row:
    """One line of the table."""

    def __init__(self, fault):
        self.fault, self.injected, self.outcomes, self.broken = fault, 0, {}, []

    def add(self, outcome):
        self.injected += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def __str__(self):
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        bad = f"; **{len(self.broken)} BROKEN**, first: {self.broken[0]}" if self.broken else ""
        return f"| {self.fault} | {self.injected} | {told}{bad} |"


class Lab:
    """A folder for one fault after another."""

    def __init__(self, base, shim, every):
        self.base, self.shim, self.every, self._number = base, shim, every, 0

    def points(self, last):
        """All points, or a sample."""
        return range(1 + random.Random(last).randrange(self.every), last + 1, self.every)

    def fresh(self):
        """A new folder with an empty one for the ledger and one for what is kept of it."""
        self._number += 1
        root = os.path.join(self.base, str(self._number))
        for name in ("disk", "kept"):
            os.makedirs(os.path.join(root, name))
        return root

    def child(self, work):
        """Run `work` in a forked child; its status (negative for a signal)."""
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                status = work() or 0
            except BaseException as error:
                if os.environ.get("FAULTS_VERBOSE"):
                    print(repr(error), file=sys.stderr)
                status = 71
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def told_clearly(error):
    """Whether an error is one of ours: a sentence that names the parameter."""
    return str(error).startswith("`")


def story_in(lab, root, seed, prepare, report=None):
    """The whole story in a child; 0 finished, 1 ended by a clear error, 2 by another one, negative: killed."""
    path, journal = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")

    def work():
        prepare(root)
        try:
            story.whole_story(path, story.Journal(journal), seed)
        except Exception as error:
            if not told_clearly(error):
                print("unclear:", repr(error), file=sys.stderr)
            return 1 if told_clearly(error) else 2
        finally:
            if report:
                report()
        return 0

    return lab.child(work), path, story.Journal.read(journal)


def judge(row, status, path, events, finished="finished"):
    """Compare, and write the outcome down."""
    try:
        if status == 2:
            raise story.Broken("an unclear error")
        if status in (70, 71):
            raise story.Broken("the process under test failed by itself")
        story.check(path, events)
    except Exception as error:
        row.broken.append(repr(error))
    row.add({0: finished, 1: "clear error"}.get(status, "killed") if status in (0, 1) or status < 0 else "failed")


def crash_at_statements(lab, repeats):
    """SIGKILL before and after each SQL statement (opening and closing a connection count as statements)."""
    row = Row("SIGKILL before and after every SQL statement")
    counter = os.path.join(lab.base, "count")

    def prepare(point, after):
        def arm(_root):
            passed = 0

            def step(call, *arguments):
                nonlocal passed
                passed += 1
                if passed == point and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = call(*arguments)
                if passed == point and after:
                    os.kill(os.getpid(), signal.SIGKILL)
                pathlib.Path(counter).write_text(str(passed)) if not point else None
                return result

            class Counted(sqlite3.Connection):
                def execute(self, *arguments):
                    return step(super().execute, *arguments)

                def executemany(self, *arguments):
                    return step(super().executemany, *arguments)

                def close(self):
                    return step(super().close)

            plain = sqlite3.connect
            sqlite3.connect = lambda *args, **options: plain(*args, factory=Counted, **options)

        return arm

    points = 0
    for seed in range(repeats):
        story_in(lab, lab.fresh(), seed, prepare(0, False))
        points = int(pathlib.Path(counter).read_text())
        for point in lab.points(points):
            for after in (False, True):
                judge(row, *story_in(lab, lab.fresh(), seed, prepare(point, after)))
    row.fault += f" ({points} statements, {repeats} times each)"
    return row


def arm(lab, kind, point, mode, keep=False):
    def prepare(root):
        kept = os.path.join(root, "kept") if keep else ""
        lab.shim.shim_arm(os.path.join(root, "disk").encode(), kept.encode(), kind, point, MODES[mode])

    return prepare


def count_calls(lab, kind, seed):
    root = lab.fresh()
    target = os.path.join(root, "count")
    story_in(
        lab,
        root,
        seed,
        arm(lab, kind, 0, "before"),
        lambda: pathlib.Path(target).write_text(str(lab.shim.shim_count())),
    )
    return int(pathlib.Path(target).read_text())


def at_calls(lab, name, kind, mode, repeats):
    """A fault at each system call of a kind."""
    row, points = Row(name), 0
    for seed in range(repeats):
        points = count_calls(lab, kind, seed)
        for point in lab.points(points):
            judge(row, *story_in(lab, lab.fresh(), seed, arm(lab, kind, point, mode)))
    row.fault += f" ({points} calls, {repeats} times each)"
    return row


def power_cut(lab, name, kind, mode, repeats):
    """The same, and all that was not synced is gone: contents and names as of their last sync."""
    row, points = Row(name), 0
    for seed in range(repeats):
        points = count_calls(lab, kind, seed)
        for point in [*lab.points(points), points + 1]:  # the last one: at the end
            root = lab.fresh()
            status, _, events = story_in(lab, root, seed, arm(lab, kind, point, mode, keep=True))
            judge(row, status, restored(root), events)
    row.fault += f" ({points} calls, {repeats} times each)"
    return row


def restored(root):
    """The disk after a power cut."""
    disk, kept = os.path.join(root, "after"), os.path.join(root, "kept")
    os.makedirs(disk)
    names = os.path.join(kept, "names")
    for line in pathlib.Path(names).read_text().splitlines() if os.path.exists(names) else []:
        inode, name = line.split(" ", 1)
        if name.endswith("-shm"):
            continue  # an index in memory
        content = os.path.join(kept, inode)
        data = pathlib.Path(content).read_bytes() if os.path.exists(content) else b""
        pathlib.Path(disk, name).write_bytes(data)
    return os.path.join(disk, "budget")


def worker(path, journal_path, until, eps, seed):
    """Spend at random until the time is over."""
    rng, journal, ledger, number = random.Random(seed), story.Journal(journal_path), story.Ledger(path), 0
    while time.monotonic() < until:
        number += 1
        name = f"{os.getpid()}-{seed}-{number}"
        story.spend(ledger, journal, name, [eps] * rng.choice([1, 1, 3]), rng.choice(["commit", "commit", "release"]))
    return 0


def random_kills(lab, kills):
    """Three workers on one ledger, killed at random times and replaced."""
    row = Row("SIGKILL at random times, three processes on one ledger")
    root = lab.fresh()
    path, journal = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")
    budget = kills * 0.002
    story.Ledger(path, eps=budget)
    rng, living = random.Random(1), []

    def start(seed):
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                worker(path, journal, time.monotonic() + 60, 0.001, seed)
            os._exit(0)
        living.append(pid)

    for kill in range(kills):
        while len(living) < 3:
            start(kill * 10 + len(living))
        time.sleep(rng.random() * 0.03)
        pid = living.pop(rng.randrange(3))
        os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        row.add("killed" if status == -signal.SIGKILL else "failed")
        if status != -signal.SIGKILL:
            row.broken.append(f"a worker ended by itself with {status}")
        if kill % 50 == 49 or kill == kills - 1:
            for other in living:
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, 0)
            living.clear()
            try:
                story.check(path, story.Journal.read(journal), budget, usable=kill == kills - 1)
            except Exception as error:
                row.broken.append(repr(error))
    return row


def many_processes(lab, processes, seconds):
    """Many workers at once, on a budget that runs out."""
    row = Row(f"{processes} processes for {seconds:g} s on one ledger, made by all of them at once")
    root = lab.fresh()
    path, journal = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")
    budget, until, pids = round(0.1 * seconds, 3), time.monotonic() + seconds, []  # runs out before the time does
    for seed in range(processes):
        pid = os.fork()
        if pid == 0:
            status = 2
            try:
                story.Ledger(path, eps=budget)
                status = worker(path, journal, until, 0.001, seed)
            except BaseException as error:
                print(repr(error), file=sys.stderr)
            os._exit(status)
        pids.append(pid)
    for pid in pids:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        row.add("finished" if status == 0 else "failed")
        if status:
            row.broken.append(f"a worker ended with {status}")
    events = story.Journal.read(journal)
    row.fault += f" ({sum(event['event'] == 'asked' for event in events)} reservations asked for)"
    try:
        story.check(path, events, budget)
    except Exception as error:
        row.broken.append(repr(error))
    return row


def truncated_logs(lab, frames_between):
    """The log cut at every frame and inside frames; and a byte of it changed."""
    cut, flipped = Row("write-ahead log cut at every frame and inside frames"), Row("a byte of a frame changed")
    root = lab.fresh()
    disk = os.path.join(root, "disk")
    path, journal_path = os.path.join(disk, "budget"), os.path.join(root, "journal")
    ledger, journal, marks = story.Ledger(path, eps=1.0), story.Journal(journal_path), []
    with contextlib.closing(sqlite3.connect(path)) as reader:  # keeps the log from being taken into the file
        reader.execute("SELECT count(*) FROM entry").fetchone()
        for number, (eps, end) in enumerate(
            [([0.2], "commit"), ([0.3], "release"), ([0.1, 0.1], "commit"), ([0.4], "")]
        ):
            story.spend(ledger, journal, f"t-{number}", eps, end)
            marks.append(os.path.getsize(path + "-wal"))
        saved = {name: pathlib.Path(disk, name).read_bytes() for name in ("budget", "budget-wal")}
    events, log = story.Journal.read(journal_path), saved["budget-wal"]
    frame = 24 + 4096
    ends = range(32, len(log) + 1, frame)
    sizes = sorted({0, 16, *ends, *(end + step for end in ends[:-1] for step in frames_between)})

    def attempt(row, data, whole):
        target = os.path.join(lab.fresh(), "disk", "budget")
        pathlib.Path(target).write_bytes(saved["budget"])
        pathlib.Path(target + "-wal").write_bytes(data)
        done = sum(mark <= whole for mark in marks)  # these operations had all of their frames
        kept = [event for event in events if int(event.get("name", "t-0")[2:]) < done]
        later = [event for event in events if event not in kept]
        # Of what came later a prefix may be there: that it was asked for is known, that it ended is not required.
        begun = [event for event in later if event["event"] in ("asked", "committing", "releasing")]
        try:
            story.check(target, kept + begun)
            row.add(f"the {'last complete state' if whole < len(log) else 'whole state'} found")
        except Exception as error:
            row.broken.append(f"at {whole}: {error!r}")
            row.add("failed")

    for size in sizes:
        attempt(cut, log[:size], size)
    rng = random.Random(2)
    for start in ends[:-1]:
        for _ in frames_between:
            place = start + rng.randrange(frame)
            attempt(flipped, log[:place] + bytes([log[place] ^ 0x40]) + log[place + 1 :], start)
    return [cut, flipped]


def full_disk(lab, steps):
    """A limit on the size of files, from none left to enough."""
    import resource

    row = Row("disk full at a given size (RLIMIT_FSIZE)")
    for size in range(0, 4096 * 24, 4096 * 24 // steps):

        def prepare(_root, size=size):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        root = lab.fresh()
        path, journal_path = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")
        journal = story.Journal(journal_path)
        if size % 8192 == 0:
            story.Ledger(path, eps=story.BUDGET)

        def work(prepare=prepare, path=path, journal=journal):
            reading = os.pipe()  # the journal itself must not hit the limit
            pid = os.fork()
            if pid == 0:
                os.close(reading[0])
                journal._file = reading[1]
                prepare(None)
                try:
                    story.whole_story(path, journal)
                except Exception as error:
                    os._exit(1 if told_clearly(error) else 2)
                os._exit(0)
            os.close(reading[1])
            while data := os.read(reading[0], 65536):
                os.write(journal._file, data)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

        judge(row, lab.child(work), path, story.Journal.read(journal_path))
    return row


def unfit_files(lab):
    """Files that are no ledger, or cannot be written: refused in clear words and left as they are."""
    row = Row("read-only file or folder, another program's file, no file at all")
    root = lab.fresh()
    disk = os.path.join(root, "disk")
    made = os.path.join(disk, "good")
    story.Ledger(made, eps=1.0)
    good = pathlib.Path(made).read_bytes()

    def other_database(path):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE terms (id TEXT)")

    def later_version(path):
        shutil.copy(made, path)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 99")

    cases = {
        "empty": lambda path: pathlib.Path(path).write_bytes(b""),
        "text": lambda path: pathlib.Path(path).write_text("eps = 1\n" * 500),
        "cut": lambda path: pathlib.Path(path).write_bytes(good[:5000]),
        "header": lambda path: pathlib.Path(path).write_bytes(good[:60]),
        "garbled": lambda path: pathlib.Path(path).write_bytes(good[:4096] + bytes(4096) + good[8192:]),
        "database": other_database,
        "version": later_version,
        "folder": os.mkdir,
        "pipe": os.mkfifo,
        "link to nothing": lambda path: os.symlink(os.path.join(disk, "nowhere"), path),
        "second name": lambda path: os.link(made, path),
        "missing": lambda path: None,
    }
    for name, make in cases.items():
        path = os.path.join(disk, f"case {name}")
        make(path)
        regular = os.path.lexists(path) and stat.S_ISREG(os.lstat(path).st_mode)
        before = pathlib.Path(path).read_bytes() if regular else None
        for options in ({}, {"eps": 1.0}):
            if name == "missing" and options:
                continue
            try:
                story.Ledger(path, **options).reserve(story.statement(0.1))
                row.broken.append(f"{name}: taken")
            except (ValueError, OSError) as error:
                if not told_clearly(error):
                    row.broken.append(f"{name}: {error!r}")
                row.add("clear error")
            if regular and pathlib.Path(path).read_bytes() != before:
                row.broken.append(f"{name}: the file was changed")
        if name == "second name":
            os.unlink(path)
    for name, file_mode, folder_mode in (("file", 0o444, 0o777), ("folder", 0o666, 0o555)):
        target = os.path.join(lab.fresh(), "disk", "budget")
        story.Ledger(target, eps=1.0)
        os.chmod(target, file_mode)
        os.chmod(os.path.dirname(target), folder_mode)

        def work(target=target):
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            try:
                story.Ledger(target).reserve(story.statement(0.1))
            except OSError as error:
                return 1 if told_clearly(error) else 2
            return 0

        status = lab.child(work)
        row.add("clear error" if status == 1 else "failed")
        if status != 1:
            row.broken.append(f"read-only {name}: status {status}")
        os.chmod(os.path.dirname(target), 0o777)
        os.chmod(target, 0o666)
        story.check(target, [])
    return row


def two_clocks(lab, rounds):
    """Two machines, one a year behind and one a year ahead, by turns."""
    from dplr import _ledger_store

    row = Row("two clocks, two years apart")
    root = lab.fresh()
    path, journal_path = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")
    story.Ledger(path, eps=story.BUDGET)
    years = ("2025", "2027")
    for number in range(rounds):

        def work(number=number):
            _ledger_store.now = lambda: f"{years[number % 2]}-01-01T00:00:00.000+00:00"
            journal = story.Journal(journal_path)
            story.spend(story.Ledger(path), journal, f"c-{number}", [0.1], ["commit", "release", "crash"][number % 3])
            return 0

        row.add("finished" if lab.child(work) == 0 else "failed")
    labels = [entry.label for entry in story.Ledger(path).entries()]
    if labels != sorted(labels, key=lambda label: int(label[2:])):
        row.broken.append("entries are not in the order in which they were written")
    try:
        story.check(path, story.Journal.read(journal_path))
    except Exception as error:
        row.broken.append(repr(error))
    return row


def experiments(lab, short):
    """Name of each experiment and what runs it; the short version hits each point once, or some of them."""
    often, seldom = (1, 1) if short else (20, 5)
    yield "statements", lambda: [crash_at_statements(lab, often)]
    for mode in ("before", "after"):
        yield "syncs", lambda mode=mode: [at_calls(lab, f"SIGKILL {mode} every fsync and fdatasync", SYNC, mode, often)]
        title = f"power cut {mode} every fsync and fdatasync: whatever was not synced is gone"
        yield "power", lambda mode=mode, title=title: [power_cut(lab, title, SYNC, mode, often)]
        yield "names", lambda mode=mode: [at_calls(lab, f"SIGKILL {mode} every link and unlink", NAME, mode, often)]
    title = "power cut before every write, truncation, link and unlink"
    yield "power", lambda title=title: [power_cut(lab, title, WRITE | NAME, "before", max(seldom, 2))]
    for mode in ("before", "torn", "after"):
        title = f"SIGKILL {mode} every write and truncation" if mode != "torn" else "SIGKILL after half of every write"
        yield "writes", lambda mode=mode, title=title: [at_calls(lab, title, WRITE, mode, seldom)]
    for mode in ("no space", "I/O error"):
        title = f"{mode} at every write, truncation and sync"
        yield "disk", lambda mode=mode, title=title: [at_calls(lab, title, WRITE | SYNC, mode, seldom)]
    yield "size", lambda: [full_disk(lab, 6 if short else 48)]
    yield "kills", lambda: [random_kills(lab, 30 if short else 1000)]
    yield "log", lambda: truncated_logs(lab, (1, 2000) if short else (1, 23, 24, 100, 2000, 4119))
    yield "processes", lambda: [many_processes(lab, 16, 1 if short else 20)]
    yield "files", lambda: [unfit_files(lab)]
    yield "clocks", lambda: [two_clocks(lab, 12)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="each fault once, and fewer of the long ones")
    parser.add_argument("--only", nargs="*", help="names of experiments, such as power and kills")
    parser.add_argument(
        "--folder", default="/dev/shm" if os.access("/dev/shm", os.W_OK) else None, help="where to work"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="dplr-faults-") as base:
        os.chmod(base, 0o755)
        if "DPLR_SHIM" not in os.environ:  # the shim must be there when the process starts
            library = build(base)
            environment = {**os.environ, "LD_PRELOAD": library, "DPLR_SHIM": library}
            return subprocess.run([sys.executable, __file__, *sys.argv[1:]], env=environment).returncode
        shim = ctypes.CDLL(os.environ["DPLR_SHIM"])
        shim.shim_arm.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int]
        shim.shim_count.restype = ctypes.c_long
        lab, broken, total = Lab(base, shim, options.every), 0, 0
        print("| fault | injected | outcome |\n|---|---|---|", flush=True)
        for name, experiment in experiments(lab, options.short):
            for row in experiment() if options.only is None or name in options.only else []:
                print(row, flush=True)
                broken, total = broken + len(row.broken), total + row.injected
        print(f"\n{total} faults, {broken} with overspending, a lost entry or an unclear error.")
        return 1 if broken else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    if "DPLR_SHIM" in os.environ:
        import story
    sys.exit(main())
