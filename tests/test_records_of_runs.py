"""`.ci/record.py` writes down what a command of the Makefile did, and no empty run passes for a green one."""

import csv
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
JUNIT = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}" time="1"/></testsuites>'
pytestmark = pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="not in a checkout")


@pytest.fixture(scope="module")
def record():
    spec = importlib.util.spec_from_file_location("record", ROOT / ".ci" / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(folder, *numbers):
    path = folder / "junit.xml"
    path.write_text(JUNIT.format(*numbers))
    return path


def test_counts_are_those_of_the_file(record, tmp_path):
    assert record.counts(written(tmp_path, 12, 2, 1, 4)) == (5, 3, 4)


@pytest.mark.parametrize("numbers", [(0, 0, 0, 0), (3, 0, 0, 3)])
def test_a_file_without_tests_that_ran_is_refused(record, tmp_path, numbers):
    with pytest.raises(record.NoTests, match="must hold tests that ran"):
        record.counts(written(tmp_path, *numbers))


@pytest.mark.parametrize("text", ["", "<testsuite", None])
def test_a_file_that_is_damaged_or_absent_is_refused(record, tmp_path, text):
    path = tmp_path / "junit.xml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(record.NoTests, match="must be a junit file"):
        record.counts(path)


@pytest.mark.parametrize(("body", "passed", "failed", "status"), [("assert True", 1, 0, 0), ("assert False", 0, 1, 1)])
def test_what_pytest_did_is_what_is_written(record, tmp_path, body, passed, failed, status):
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    {body}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    line = record.run("sample", command)
    assert (line["passed"], line["failed"], line["skipped"], line["status"]) == (passed, failed, 0, status)
    for _ in range(2):
        record.append(line, tmp_path / "runs.csv")
    record.summarise(line, tmp_path / "summary.md")
    rows = list(csv.DictReader((tmp_path / "runs.csv").open()))
    assert [row["passed"] for row in rows] == [str(passed)] * 2
    assert f"| sample | {line['seconds']} | {status} |" in (tmp_path / "summary.md").read_text()


def test_a_command_that_runs_no_test_fails(record, capsys):
    line = record.run("sample", [sys.executable, "-c", "pass"])
    assert line["status"] == 1
    assert "must be a junit file" in capsys.readouterr().err


def test_every_recorded_command_is_one_of_the_makefile_and_of_the_table():
    nightly = (ROOT / ".ci" / "thorough").read_text() + (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    table = (ROOT / "CONTRIBUTING.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for name in ("thorough", "spark", "floors", "faults", "checked", "sanitized", "threads", "soak"):
        assert f"\n{name}:" in makefile
        assert f"make {name}`" in table
        assert name in nightly


def test_the_table_of_runs_has_commands_and_counts(record):
    rows = list(csv.DictReader(record.RESULTS.open()))
    assert rows
    for row in rows:
        assert list(row) == record.FIELDS
        if row["status"] == "0" and row["command"] not in record.WITHOUT_PYTEST:
            assert int(row["passed"]) > 0
