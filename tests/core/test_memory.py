"""No kernel touches memory outside its arrays: they lie between forbidden pages, in a process that a touch kills."""

import pathlib
import subprocess
import sys

import pytest

import fenced
from dplr._core import cpu_paths

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize("path", cpu_paths())
@pytest.mark.parametrize("kernel", fenced.KERNELS)
def test_kernel_reads_and_writes_nothing_outside_its_arrays(path, kernel):
    """Every array of a call touches a forbidden page with its first or its last byte."""
    result = run(fenced.__file__, path, kernel)
    cases = result.stdout.splitlines()
    assert result.returncode == 0, f"{cases[-1:]}: {result.stderr}"
    assert len(cases) == 2 * 2 * len(fenced.NUMBERS_OF_ROWS) * len(fenced.NUMBERS_OF_COLUMNS) * len(fenced.LAYOUTS) * 2


@pytest.mark.parametrize(("side", "offset"), [("start", -1), ("end", 24)])
def test_fence_kills_who_touches_it(side, offset):
    """The test above can fail: one byte outside is enough, and the bytes inside are not."""
    code = "import ctypes, sys, numpy as np; from fenced import fenced; a = fenced(np.zeros(3), sys.argv[1]);"
    code += "ctypes.string_at(a.ctypes.data, 24); print('inside', flush=True);"
    code += "ctypes.string_at(a.ctypes.data + int(sys.argv[2]), 1); print('outside')"
    folder = pathlib.Path(fenced.__file__).parent
    result = run("-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {code}", side, str(offset))
    assert result.returncode != 0
    assert result.stdout.split() == ["inside"], result.stderr
