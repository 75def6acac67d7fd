"""Copies of the installed package with a fault, and pytest on them."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import numpy as np

import dplr
from planted_table import ROOT

PACKAGE = pathlib.Path(dplr.__file__).parent
# Such a failure says that the patch is no program, and not that a promise is broken.
_NO_PROGRAM = ("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError")
_SECONDS = 600


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
    """Compile a kernel of the copy anew, without the tiles of an instruction set."""
    core, made = folder / "dplr" / "_core", folder / f"{kernel}.c"
    _call([sys.executable, "-m", "cython", "-3", "--shared=dplr._core._cyutility", f"dplr/_core/{kernel}.pyx", "-o", made], folder)
    (library,) = core.glob(f"{kernel}.*.so")
    library.unlink()
    includes = [sysconfig.get_paths()["include"], np.get_include(), core, core / "tiles"]
    options = ["-O2", "-fPIC", "-shared", "-fopenmp", "-DPy_LIMITED_API=0x030b0000", "-DCYTHON_LIMITED_API=1"]
    compiler = os.environ.get("CC", "cc")
    _call([compiler, *options, *(f"-I{include}" for include in includes), made, "-o", library], folder)


def _call(command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{command[0]} ended with {done.returncode}: {done.stderr}")


def run_tests(folder, tests, suite, options=("-x",)):
    """The outcome of tests on the copy in a folder."""
    start, report = time.perf_counter(), folder / "report.xml"
    marked = ["-m", ""] if suite == "thorough" else []
    check = (
        f"import sys, dplr, pytest; assert dplr.__file__.startswith({str(folder)!r}), dplr.__file__; "
        f"sys.exit(pytest.main(sys.argv[1:]))"
    )
    command = [
        sys.executable, "-c", check, *tests, *options, *marked, "-q", "-n", "0", "-p", "no:cacheprovider",
        f"--junitxml={report}", f"--basetemp={folder / 'temporary'}",
    ]  # fmt: skip
    # Bytecode of a patched file was left out of the copy: what is compiled is what is written.
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome("broken", time.perf_counter() - start, (), f"no end within {_SECONDS} seconds")
    return _outcome(done, report, time.perf_counter() - start)


def _outcome(done, report, seconds):
    """Red is a failed test that is a program; an error of collection, of use or of a fixture is not."""
    said = (done.stdout + done.stderr)[-6000:]
    if done.returncode == 0:
        return Outcome("green", seconds, (), said)
    if done.returncode != 1 or not report.exists():
        return Outcome("broken", seconds, (), said)
    failed = {}
    for case in ElementTree.parse(report).iter("testcase"):
        for failure in case.findall("failure"):
            failed[f"{case.get('classname')}::{case.get('name')}"] = failure.get("message") or ""
    real = [name for name, message in failed.items() if not message.startswith(_NO_PROGRAM)]
    return Outcome("red" if real else "broken", seconds, tuple(real), said)
