"""docs/use/walkthrough.md works as printed: its commands are run in order, on Adult or on a twin of it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import adult_twin
import dplr
from outputs import same

DOCS = pathlib.Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^(<!-- one run -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    """(one run, language, text) of every code block."""
    return [
        (bool(mark), kind, text) for mark, kind, text in BLOCK.findall((DOCS / "use" / "walkthrough.md").read_text())
    ]


@pytest.fixture
def folder(tmp_path):
    """The bounds, and a command dplr that is this package's."""
    shutil.copy(DOCS / "examples" / "adult.toml", tmp_path)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "dplr"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dplr "$@"\n')
    script.chmod(0o755)
    return tmp_path


def follow(folder):
    """Run the blocks in their order; returns the outputs of the shell's blocks."""
    paths = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    environment = os.environ | {"PATH": paths}
    outputs = []
    for one_run, kind, text in blocks():
        if kind == "text":
            assert same(outputs[-1], text, one_run), f"shown:\n{text}\nfound:\n{outputs[-1]}"
            continue
        argv = {"sh": ["sh", "-eu", "-c"], "python": [sys.executable, "-c"]}[kind]
        done = subprocess.run(
            [*argv, text], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, (text, done.stdout)
        outputs.append(done.stdout)
    return outputs


def check(folder):
    outputs = follow(folder)
    est = dplr.load_model(folder / "model.json")
    assert (est.privacy_.eps, len(est.coef_names_)) == (0.8, 106)
    assert (folder / "report.html").stat().st_size > 10_000
    return next(float(text) for text in outputs if re.fullmatch(r"0\.\d+\n", text))


REAL = pathlib.Path(os.environ.get("DPLR_DATA", "no folder")) / "adult.parquet"


@pytest.mark.skipif(REAL.exists(), reason="Adult itself is here: the other test")
def test_the_walkthrough_works_on_a_twin_of_adult(folder):
    adult_twin.write_twin(folder, folder / "adult.toml")
    assert check(folder) > 0.6


@pytest.mark.realdata
def test_the_walkthrough_works_on_adult(folder, data_folder):
    adult_twin.write_real(folder, data_folder)
    assert check(folder) > 0.8


def test_shown_output_is_compared():
    """The comparison itself can fail."""
    assert same("eps = 0.8 left\n", "eps = 0.8\nleft", False)
    assert same("a 0.123\nb\nc", "a 0.5\n...", True)
    assert not same("eps = 0.8", "eps = 0.9", False)
    assert not same("eps = 0.8", "delta = 0.8", True)
