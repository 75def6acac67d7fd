"""What a type checker tells a user: the model that a fit returns, and wrong uses before they run."""

import inspect
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

import dplr
from dplr.fitting.options import FitKeywords, ManyKeywords, declared

HERE = pathlib.Path(__file__).parent
SCRIPT = HERE / "user_script.py"
README = HERE.parents[1] / "README.md"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def mypy(folder, *files):
    """Mypy as a user calls it, beside no configuration of this project: its exit status and its output."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(folder / "cache"), *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("types")


def test_a_users_script_and_the_readme_are_typed(folder):
    readme = folder / "readme.py"
    readme.write_text("\n".join(FENCE.findall(README.read_text())))
    status, output = mypy(folder, SCRIPT, readme)
    assert status == 0, output
    assert "no issues found in 2 source files" in output


def test_the_script_runs_as_it_is_typed():
    runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize(("function", "options"), [(dplr.fit, FitKeywords), (dplr.fit_many, ManyKeywords)])
def test_overloads_take_the_keywords_of_the_function(function, options):
    taken = set(inspect.signature(function).parameters) - {"X", "y", "model", "options"}
    taken |= {each.name for each in declared()}
    assert set(options.__annotations__) == taken
