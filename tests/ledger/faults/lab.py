"""Where faults are injected: a folder for each, a forked process under test, and a line of the table."""

import os
import pathlib
import random
import subprocess
import sys

import story

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
