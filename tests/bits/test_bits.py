"""Sums, noise, encodings and releases have the bits that were written down, on every platform."""

import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

import planted_copies
import planted_table
import pytest
from tests.bits.bits_file import faults, read, write

import dplr

PROGRAM = pathlib.Path(__file__).parent
FIXED = PROGRAM / "hashes.txt"
# Kind of hash, by which names begin: a planted fault that changes hashes of the kind, and that a test sees without.
GUARDS = tomllib.loads((PROGRAM / "guards.toml").read_text())
PLANTED = {fault.name: fault for fault in planted_table.read()}
# A line of the package, and a value whose hash it changes.
BROKEN = [
    ("problem/geometry.py", "INTERCEPT = 0.5 ", "INTERCEPT = 0.25 ", "differs: moments ball 700x1 labels on baseline"),
    (
        "noise/ideal.py",
        "else value) + 1) // 2",
        "else value) + 2) // 2",
        "differs: release objective gaussian on portable",
    ),
]


def run(*options, package=None):
    """The program without what an emulated machine may lack."""
    path = [] if package is None else [str(package)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*path, *filter(None, [os.environ.get("PYTHONPATH")])])}
    without = "import runpy, sys; sys.modules.update(dict.fromkeys(['pytest', 'sklearn', 'pandas', 'pyarrow'])); "
    code = without + f"sys.argv[1:] = {list(options)!r}; runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_every_value_has_the_bits_that_were_written_down():
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 faults" in done.stdout


def test_a_broken_package_has_other_bits(tmp_path):
    shutil.copytree(pathlib.Path(dplr.__file__).parent, tmp_path / "dplr")
    for file, good, bad, _ in BROKEN:
        text = (tmp_path / "dplr" / file).read_text()
        assert text.count(good) == 1, good
        (tmp_path / "dplr" / file).write_text(text.replace(good, bad))
    done = run(package=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert {each[-1] for each in BROKEN} <= set(said)
    assert not any("encoder" in line for line in said)  # what was not broken


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"a": {"": "1"}, "b @avx2": {"avx2": "2"}}, []),
        ({"a": {"": "1"}}, ["not computed: b @avx2"]),
        ({"b @avx2": {"avx2": "2"}}, ["not computed: a"]),
        ({"a": {"portable": "1", "avx2": "9"}, "b @avx2": {"avx2": "2"}}, ["differs: a on avx2"]),
        ({"a": {"": "1"}, "b @avx2": {"avx2": "2"}, "d": {"": "4"}}, ["not in the file: d"]),
    ],
)
def test_what_differs_is_named(found, said):
    fixed = {"a": "1", "b @avx2": "2", "c @neon": "3"}
    assert faults(found, fixed, ("portable", "baseline", "avx2")) == said


def test_hashes_of_other_cpus_stay_when_the_file_is_written_anew(tmp_path):
    file = tmp_path / "hashes.txt"
    write({"a": {"": "1"}, "b @neon": {"neon": "2"}}, file, ("portable", "neon"))
    write({"a b": {"portable": "3", "avx2": "3"}, "b @avx2": {"avx2": "4"}}, file, ("portable", "avx2"))
    assert read(file) == {"a b": "3", "b @avx2": "4", "b @neon": "2"}
    with pytest.raises(SystemExit, match="CPU paths differ"):
        write({"a": {"portable": "3", "avx2": "4"}}, file, ("portable", "avx2"))


def kind_of(name):
    """The longest kind that a name begins with, up to the end of a word; None for a name of no kind."""
    kinds = [kind for kind in GUARDS if name.startswith(kind) and not name[len(kind) :][:1].isalpha()]
    return max(kinds, key=len, default=None)


def test_the_file_holds_every_kind_of_value():
    names = list(read(FIXED))
    assert [name for name in names if kind_of(name) is None] == []
    assert {kind_of(name) for name in names} == set(GUARDS)


@pytest.mark.parametrize("kind", GUARDS)
def test_every_kind_has_a_planted_fault_that_is_seen_without_hashes(kind):
    assert not [test for test in PLANTED[GUARDS[kind]].tests if test.startswith("tests/bits")]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["draws laplace, large", "encoder column of i", "moments", "release fm"])
def test_the_planted_fault_of_a_kind_changes_its_hashes(kind, tmp_path):
    """Of four kinds: each compiles a kernel. It was so of all when the table was written."""
    planted_copies.plant(PLANTED[GUARDS[kind]], tmp_path)
    said = run(package=tmp_path).stdout.splitlines()
    assert kind in {kind_of(line.removeprefix("differs: ").partition(" on ")[0].partition(" @")[0]) for line in said}
