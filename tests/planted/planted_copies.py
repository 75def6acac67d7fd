"""Copies of the installed package with a fault, and pytest on them."""

import importlib.util
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import numpy as np
from planted_table import ROOT

# Found and not imported: the processes that run tests import their copy.
PACKAGE = pathlib.Path(importlib.util.find_spec("dplr").origin).parent
KERNELS = ROOT / "src" / "dplr" / "_core"
# Such a failure says that the patch is no program, and not that a promise is broken.
_NO_PROGRAM = ("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError")
_SECONDS = 600
TILES = "_row_map"  # the kernel that the tiles are linked to
# Every test process is a fork of one that has these: they take longer to load than most tests to run.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["numpy", "scipy.stats", "scipy.optimize", "sklearn", "pandas", "pytest"])


@dataclass(frozen=True)
class Outcome:
    """How tests ended on a copy: "red", "green" or "broken", with seconds, the tests that failed, and what was said."""

    colour: str
    seconds: float
    failed: tuple[str, ...]
    said: str


def places(package, patch):
    """How often the line of a patch occurs in its file."""
    return (package / patch.file).read_text(encoding="utf-8").count(patch.line)


def plant(fault, folder):
    """Make a copy of the package in the folder, with the fault; raises ValueError for a patch that does not apply."""
    package = folder / "dplr"
    shutil.copytree(PACKAGE, package)
    # An installed package has no sources of its kernels.
    shutil.copytree(KERNELS, package / "_core", ignore=shutil.ignore_patterns("*.so", "*.py"), dirs_exist_ok=True)
    for patch in fault.patches:
        file, count = package / patch.file, places(package, patch)
        if count != 1:
            raise ValueError(f"{fault.name}: the line must occur once in {patch.file}; it occurs {count} times")
        text = file.read_text(encoding="utf-8").replace(patch.line, patch.broken)
        file.unlink()  # a copy of a read-only file cannot be written
        file.write_text(text, encoding="utf-8")
        for stale in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
            stale.unlink()
    patched = {pathlib.Path(patch.file).stem for patch in fault.patches if patch.file.endswith(".pyx")}
    for kernel in sorted(patched | set(fault.kernels)):
        _compile(kernel, folder)


def _compile(kernel, folder):
    """Compile a kernel of the copy anew; the one that has the tiles, with those that every processor runs."""
    core, made = folder / "dplr" / "_core", folder / f"{kernel}.c"
    cython = [sys.executable, "-m", "cython", "-3", "--shared=dplr._core._cyutility"]
    _call([*cython, f"dplr/_core/{kernel}.pyx", "-o", made], folder)
    (library,) = core.glob(f"{kernel}.*.so")
    library.unlink()
    includes = [sysconfig.get_paths()["include"], np.get_include(), core, core / "tiles"]
    options = ["-O2", "-fPIC", "-shared", "-fopenmp", "-DPy_LIMITED_API=0x030b0000", "-DCYTHON_LIMITED_API=1"]
    sources = [made]
    if kernel == TILES:
        options += ["-DLANES=2", "-DTILES_NAME=baseline", "-DHAVE_BASELINE"]
        sources += [core / "tiles" / "tiles.c", core / "tiles" / "dispatch.c"]
    compiler = os.environ.get("CC", "cc")
    _call([compiler, *options, *(f"-I{include}" for include in includes), *sources, "-o", library], folder)


def _call(command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{command[0]} ended with {done.returncode}: {done.stderr}")


def run_tests(folder, tests, suite, options=("-x",)):
    """The outcome of tests on the copy in a folder, in a process of their own."""
    start, report = time.perf_counter(), folder / "report.xml"
    marked = ["-m", ""] if suite == "thorough" else []
    arguments = [
        *tests, *options, *marked, "-q", "-n", "0", "-p", "no:cacheprovider", f"--junitxml={report}",
        f"--basetemp={folder / 'temporary'}",
    ]  # fmt: skip
    process = _PROCESSES.Process(target=_pytest, args=(str(folder), arguments))
    process.start()
    process.join(_SECONDS)
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return Outcome("broken", time.perf_counter() - start, (), f"no end within {_SECONDS} seconds")
    said = (folder / "said").read_text(encoding="utf-8", errors="replace")[-6000:]
    return _outcome(process.exitcode, report, time.perf_counter() - start, said)


def _pytest(folder, arguments):
    """Run pytest on the copy, which is the first on every path; what it says goes into a file."""
    os.setsid()
    said = os.open(pathlib.Path(folder, "said"), os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.path.insert(0, folder)
    os.environ |= {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
    os.chdir(ROOT)
    assert "dplr" not in sys.modules
    import pytest

    import dplr

    assert dplr.__file__.startswith(folder), dplr.__file__
    code = int(pytest.main(arguments))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # whatever threads a test has left


def _outcome(code, report, seconds, said):
    """Red is a failed test that is a program; an error of collection, of use or of a fixture is not."""
    if code == 0:
        return Outcome("green", seconds, (), said)
    if code != 1 or not report.exists():
        return Outcome("broken", seconds, (), said)
    failed = {}
    for case in ElementTree.parse(report).iter("testcase"):
        for failure in case.findall("failure"):
            failed[f"{case.get('classname')}::{case.get('name')}"] = failure.get("message") or ""
    real = [name for name, message in failed.items() if not message.startswith(_NO_PROGRAM)]
    return Outcome("red" if real else "broken", seconds, tuple(real), said)
