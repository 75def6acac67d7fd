"""Wheels: which one an interpreter gets, tables of the page as the files say, and workflows that run what there is."""

import pathlib
import re
import sys
import tomllib

import pytest

from bench.wheels import __main__ as wheels
from bench.wheels import page
from bench.wheels.__main__ import by_version, faults
from bench.wheels.places import started_by
from bench.wheels.trying import fitting

ROOT = pathlib.Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WHEELS = [pathlib.Path(f"dplr-1.0-{tag}-manylinux2014_x86_64.whl") for tag in ("cp311-abi3", "cp314-cp314t")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize(
    ("interpreter", "tag"),
    [("CPython 3.11.7", "-cp311-abi3-"), ("CPython 3.15.2", "-cp311-abi3-"), ("CPython 3.14.7t", "-cp314-cp314t-")],
)
def test_free_threaded_python_has_a_wheel_of_its_own(interpreter, tag):
    assert tag in fitting(WHEELS, interpreter).name


def test_free_threaded_python_is_never_given_another_wheel():
    with pytest.raises(SystemExit, match=r"CPython 3.15.0t needs one wheel with -cp315t- in its name, but there are 0"):
        fitting(WHEELS, "CPython 3.15.0t")


def test_versions_come_in_order():
    names = ["CPython 3.15.2", "CPython 3.14.7t", "CPython 3.11.7", "CPython 3.9.1", "CPython 3.14.7"]
    in_order = ["CPython 3.9.1", "CPython 3.11.7", "CPython 3.14.7", "CPython 3.14.7t", "CPython 3.15.2"]
    assert sorted(names, key=lambda name: by_version({"interpreter": name})) == in_order


@pytest.mark.parametrize(("bits", "failed", "words"), [
    ("equal", "", []), ("equal", 0, []), ("290 hashes: 1 faults", 0, ["other bits"]), ("equal", 2, ["2 tests failed"]),
    ("no answer", 3, ["other bits", "3 tests failed"]),
])  # fmt: skip
def test_other_bits_and_tests_that_fail_are_faults(bits, failed, words):
    sentences = faults({"interpreter": "CPython 3.12.1", "bits": bits, "failed": failed})
    assert len(sentences) == len(words)
    assert all(word in sentence for word, sentence in zip(words, sentences, strict=True))


def test_the_command_fails_where_no_interpreter_is_here(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["wheels", "python3.0"])
    assert wheels.main() == 1
    assert "None of these interpreters is here: python3.0." in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="a script of the shell")
def test_a_script_that_starts_an_interpreter_is_seen_through(tmp_path):
    script = tmp_path / "python3.99"
    script.write_text(f'#!/usr/bin/env bash\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    assert started_by(str(script)) == sys.executable


def test_tables_of_the_page_are_those_of_the_files():
    text = page.PAGE.read_text()
    assert page.with_tables(text) == text
    for name in page.TABLES:
        assert len((page.RESULTS / name).read_text().splitlines()) > 2


def test_a_table_that_differs_from_its_file_is_written_anew(tmp_path, monkeypatch):
    text = page.PAGE.read_text()
    for name in page.TABLES:
        first, *rest = (page.RESULTS / name).read_text().splitlines(keepends=True)
        (tmp_path / name).write_text(first + "".join(rest[1:]))
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    written = page.with_tables(text)
    assert len(written.splitlines()) == len(text.splitlines()) - len(page.TABLES)
    with pytest.raises(ValueError, match=r"no place for a table: <!-- wheels.csv -->"):
        page.with_tables(text.replace("<!-- wheels.csv -->", ""))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_get_no_password(workflow):
    text = workflow.read_text()
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    assert [action for action, _ in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
    assert [action for action, rest in used if not re.fullmatch(r" # v\d+\.\d+\.\d+", rest)] == []
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert "secrets." not in text
    assert re.search(r"^permissions:( \{\}|\n  contents: read)$", text, re.MULTILINE)


def jobs_of_wheels():
    """The text of each job of the workflow that publishes."""
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text().partition("\njobs:\n")[2]
    parts = re.split(r"^  ([\w-]+):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_only_publishing_may_ask_for_an_identity_and_it_waits_for_reviewers():
    jobs = jobs_of_wheels()
    asking = [name for name, job in jobs.items() if "id-token: write" in job]
    assert asking == ["test-index", "publish", "release"]
    assert "".join(path.read_text() for path in WORKFLOWS).count("id-token: write") == len(asking)
    environments = [re.findall(r"environment:\n      name: (\w+)", jobs[name]) for name in asking]
    assert environments == [["testpypi"], ["pypi"], []]


def test_nothing_is_published_before_what_it_rests_on():
    """Tag and tests, all files, the test index, an installation from there, the index, the release: in this order."""
    jobs = jobs_of_wheels()
    needs = {name: re.findall(r"^    needs: \[(.*)\]", job, re.MULTILINE) for name, job in jobs.items()}
    assert needs == {
        "ready": [], "sdist": [], "wheels": ["sdist"], "files": ["sdist, wheels"], "test-index": ["ready, files"],
        "from-test-index": ["test-index"], "publish": ["from-test-index"], "release": ["publish"],
    }  # fmt: skip
    only_tags = "    if: github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')\n"
    assert only_tags in jobs["ready"]
    assert not any("always()" in job for job in jobs.values())
    assert "contents: write" in jobs["release"]
    assert sum("contents: write" in job for job in jobs.values()) == 1


def test_an_installation_is_tried_wherever_wheels_are_built():
    runners = re.findall(r"runner: \[(.*)\]", (ROOT / ".github" / "workflows" / "wheels.yml").read_text())
    assert len(runners) == 2
    assert len(set(runners)) == 1


def test_workflows_run_commands_of_the_makefile():
    targets = set(re.findall(r"^([a-z0-9 -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {name for line in targets for name in line.split()}
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    listed = re.search(r"command: \[(.*)\]", text)[1].split(", ") + re.findall(r", command: ([\w-]+)\}", text)
    asked = {*listed, *re.findall(r"run: make ([a-z]+)", text)}
    assert {"lint", "test", "wheels", "source"} <= asked
    assert sorted(asked - known) == []


def test_hosted_wheels_are_those_of_the_page():
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    text = page.PAGE.read_text()
    assert built == ["cp311-*", "cp314t-*", "cp315t-*"]
    assert PROJECT["tool"]["meson-python"]["limited-api"]
    for runner in re.search(r"runner: \[(.*)\]", (ROOT / ".github/workflows/wheels.yml").read_text())[1].split(", "):
        system = {"ubuntu": "Linux", "macos": "macOS", "windows": "Windows"}[runner.partition("-")[0]]
        assert f"| {system} " in text


def test_kernels_use_the_stable_abi_of_the_oldest_python():
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    kernels = (ROOT / "src/dplr/_core/meson.build").read_text()
    assert kernels.count("py.extension_module(") == kernels.count(f"limited_api: '{oldest}'") == 2
    assert "-Xfreethreading_compatible=True" in (ROOT / "meson.build").read_text()
