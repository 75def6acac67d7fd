"""Inject faults into the ledger and print what became of them: python tests/ledger/faults/run.py [--short]

Needs Linux and a C compiler. Every process under test keeps a journal; after its fault the ledger is compared with it.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

from crashes import at_calls, crash_at_statements, many_processes, power_cut, random_kills
from files import full_disk, two_clocks, unfit_files
from lab import NAME, SYNC, WRITE, Lab, build


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
    yield "processes", lambda: [many_processes(lab, 16, 1 if short else 20)]
    yield "files", lambda: [unfit_files(lab)]
    yield "clocks", lambda: [two_clocks(lab, 12)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="each fault once, and fewer of the long ones")
    parser.add_argument("--every", type=int, default=1, help="hit only every so many points")
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
    sys.exit(main())
