"""Copies of the package with some lines broken, and a test that must be red on them."""

import pathlib
import re
import shutil
import subprocess
import sys

import dplr

ROOT = pathlib.Path(__file__).parents[2]


def assert_breakable(changes):
    """Each line to be broken, (file, line, broken line), must stand once in the package."""
    for file, good, _ in changes:
        assert (pathlib.Path(dplr.__file__).parent / file).read_text().count(good) == 1, (file, good)


def assert_red(folder, changes, test, complaint):
    """Break lines, (file, line, broken line) each, in a copy; the test must fail on it, and say that."""
    shutil.copytree(pathlib.Path(dplr.__file__).parent, folder / "dplr")
    assert_breakable(changes)
    for file, good, bad in changes:
        text = (folder / "dplr" / file).read_text()
        (folder / "dplr" / file).write_text(text.replace(good, bad))
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); import dplr, pytest; "
        f"assert dplr.__file__.startswith({str(folder)!r}); "
        f"sys.exit(pytest.main(['-x', '-q', '-m', '', '-p', 'no:cacheprovider', {test!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(complaint, done.stdout), done.stdout
