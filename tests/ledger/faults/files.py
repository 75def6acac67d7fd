"""Disks that are full, files that are read-only or no ledgers, and clocks that disagree."""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import stat

import story
from lab import Row, judge, told_clearly

from dplr.ledger import transactions


def full_disk(lab, steps):
    """A limit on the size of files, from none left to enough."""
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
    row = Row("two clocks, two years apart")
    root = lab.fresh()
    path, journal_path = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")
    story.Ledger(path, eps=story.BUDGET)
    years = ("2025", "2027")
    for number in range(rounds):

        def work(number=number):
            transactions.now = lambda: f"{years[number % 2]}-01-01T00:00:00.000+00:00"
            journal = story.Journal(journal_path)
            story.spend(story.Ledger(path), journal, f"c-{number}", [0.1], ["commit", "refund", "crash"][number % 3])
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
