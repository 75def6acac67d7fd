"""The table of planted faults: every patch applies, every test exists, and the runner tells red from green."""

import collections
import importlib.util
import pathlib
import re
import subprocess
import sys

import planted_copies
import planted_page
import planted_table
import pytest
from planted_table import ROOT, Fault, Patch

FAULTS = planted_table.read()


def test_the_page_is_made_of_the_table():
    assert planted_page.PAGE.read_text() == planted_page.text()


def test_there_are_a_hundred_faults_with_names_of_their_own():
    counts = collections.Counter(fault.name for fault in planted_table.read())
    assert len(FAULTS) >= 100
    assert set(counts.values()) == {1}


def test_every_patch_applies_to_one_place_and_changes_it():
    for fault in planted_table.read():
        for patch in fault.patches:
            assert planted_copies.places(ROOT / "src" / "dplr", patch) == 1, (fault.name, patch.file)
            assert patch.broken != patch.line, fault.name


def test_every_test_exists():
    for fault in FAULTS:
        for node in fault.tests:
            file, _, function = node.partition("::")
            name = function.partition("[")[0]
            assert name.startswith("test_"), node
            assert f"def {name}(" in (ROOT / file).read_text(), node


def test_no_witness_of_the_default_suite_is_left_out_of_it():
    slow = (ROOT / "tests" / "slow.txt").read_text().split()
    default = {node for fault in FAULTS if fault.suite == "default" for node in fault.tests}
    assert not [node for node in slow for witness in default if node == witness or node.startswith(f"{witness}[")]


def test_no_witness_compares_hashes_or_reads_the_source():
    weak = ("tests/bits", "tests/test_names", "tests/test_story", "tests/test_docs", "tests/test_package")
    assert not [node for fault in FAULTS for node in fault.tests if node.startswith(weak)]


def test_a_fault_is_red_a_harmless_change_green_and_what_is_no_program_broken(monkeypatch, capsys):
    line = "    return 2 * half_width * numbers + half_width\n"
    test = "tests/planted/witness.py::test_ranges_count_their_records"
    changes = {"red": line.replace(" + half_width", ""), "green": f"    # no\n{line}", "broken": "    return name\n"}
    faults = [
        Fault(colour, "area", "", (Patch("privacy/sensitivity.py", line, broken),), (test,))
        for colour, broken in changes.items()
    ]
    program = importlib.util.spec_from_file_location("planted_program", planted_table.FOLDER / "__main__.py")
    runner = importlib.util.module_from_spec(program)
    program.loader.exec_module(runner)
    monkeypatch.setattr(runner, "read", lambda: faults)
    monkeypatch.setattr(sys, "argv", ["planted", *changes])
    with pytest.raises(SystemExit) as end:
        runner.main()
    said = capsys.readouterr().out
    assert end.value.code == 1, said
    for colour in changes:
        assert re.search(rf"^{colour} .* area +{colour}$", said, re.MULTILINE), said
    assert "3 faults: 1 red, 1 green, 1 broken\nthe tests are green without a fault" in said


def test_a_patch_that_does_not_apply_is_refused(tmp_path):
    patch = Patch("privacy/sensitivity.py", "import", "export")
    with pytest.raises(ValueError, match="must occur once"):
        planted_copies.plant(Fault("", "", "", (patch,), ("",)), tmp_path)


def test_the_command_ends_with_an_error_where_a_name_is_unknown():
    command = [sys.executable, str(pathlib.Path(planted_table.FOLDER)), "no such fault"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no such fault" in done.stderr
