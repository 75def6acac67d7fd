"""A fit whose memory runs out ends: threads that cannot begin are never waited for."""

import os
import subprocess
import sys
import threading as python

import pytest

from dplr.rows import threads

# Threads start, then no memory is left; they end, and others are to start.
SCRIPT = """
import pathlib, resource
from dplr.rows.streams.parts import one_pass
from dplr.rows.streams.passes import CountPass
from streamed_rows import parts_of, people

parts = parts_of(people(4000), 4, threads=2)
assert one_pass(parts, CountPass()) == 4000
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
used = next(int(line.split()[1]) for line in lines if line.startswith("VmData")) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used, used))
held = []
try:
    while True:
        held.append([object() for _ in range(1000)])
except MemoryError:
    pass
for freed in range(200):
    held.pop()
    try:
        assert one_pass(parts, CountPass()) == 4000
        break
    except MemoryError:
        pass
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_pass_ends_where_no_thread_can_begin():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, check=False)  # fmt: skip
    assert done.stdout == "done\n", done.stderr


def test_without_room_for_threads_the_calling_thread_works(monkeypatch):
    monkeypatch.setattr(threads, "can_start", lambda count: False)
    names = threads.run(lambda item: (item, python.current_thread()), [1, 2, 3])
    assert names == [(item, python.current_thread()) for item in (1, 2, 3)]
