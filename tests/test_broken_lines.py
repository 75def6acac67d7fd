"""The lines that audits break are those of the package: seen in every run, while the audits take longer."""

import importlib
import pathlib

import pytest

import dplr

PACKAGE = pathlib.Path(dplr.__file__).parent
MODULES = sorted(path.stem for path in (pathlib.Path(__file__).parent / "privacy_audits").glob("test_audit_*.py"))


def flat(entry):
    if isinstance(entry, str):
        return [entry]
    if isinstance(entry, (tuple, list)):
        return [text for part in entry for text in flat(part)]
    return []


def broken_lines(module):
    """(file, line) of each fault of a module of audits."""
    faults = getattr(module, "BROKEN", [])
    for fault in faults.values() if isinstance(faults, dict) else faults:
        texts = flat(fault)
        places = [k for k, text in enumerate(texts) if text.endswith((".py", ".pyx")) and " " not in text]
        yield (texts[places[0]], texts[places[0] + 1]) if places else (module.NOISE, texts[1])


@pytest.mark.parametrize("name", MODULES)
def test_each_line_to_be_broken_stands_once_in_its_file(name):
    module = importlib.import_module(f"tests.privacy_audits.{name}")
    places = list(broken_lines(module))
    missing = [
        (file, line)
        for file, line in places
        if not (PACKAGE / file).exists() or (PACKAGE / file).read_text().count(line) != 1
    ]
    assert missing == []


def test_most_audits_have_faults():
    counts = [len(list(broken_lines(importlib.import_module(f"tests.privacy_audits.{name}")))) for name in MODULES]
    assert sum(counts) > 80
