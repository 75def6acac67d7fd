"""What `python -m dplr --versions` prints, for reports of faults."""

import platform
import sys
from importlib import metadata

import pytest

from dplr.__main__ import main
from dplr._core import built_paths, cpu_paths, instruction_set


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """The command without click, since a missing extra may be the fault that is reported."""
    monkeypatch.setattr("sys.argv", ["dplr", "--versions"])
    monkeypatch.setitem(sys.modules, "click", None)


def printed(capsys):
    main()
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if not line.startswith("CPU"))


def paths(capsys):
    main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("CPU")]
    return {line[:20].strip(): line[20:].strip() for line in lines}


def test_versions_are_those_that_are_installed(capsys):
    facts = printed(capsys)
    for name in ("dplr", "numpy", "scipy", "scikit-learn", "narwhals"):
        assert facts[name] == metadata.version(name)
    assert facts["Python"].startswith(platform.python_version())
    assert facts["processor"] == platform.machine()


def test_a_package_that_is_missing_is_said_to_be(capsys, monkeypatch):
    def version(name, known=metadata.version):
        if name == "scipy":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr("dplr._kit.versions.metadata.version", version)
    assert printed(capsys)["scipy"] == "not installed"


def test_paths_of_the_build_and_of_the_cpu_are_told_apart(capsys, monkeypatch):
    monkeypatch.setattr("dplr._kit.versions.built_paths", lambda: ("portable", "baseline", "wider"))
    assert paths(capsys) == {
        "CPU paths built": "portable, baseline, wider",
        "CPU paths usable": ", ".join(cpu_paths()),
        "CPU path taken": instruction_set(),
    }
    monkeypatch.undo()
    assert set(cpu_paths()) <= set(built_paths())


def test_the_path_that_is_asked_for_is_the_one_that_is_taken(capsys, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", "portable")
    assert paths(capsys)["CPU path taken"] == "portable"
    monkeypatch.setenv("DPLR_ISA", "mmx")
    with pytest.raises(ValueError, match="DPLR_ISA"):
        main()
