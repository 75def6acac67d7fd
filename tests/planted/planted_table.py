"""The table of planted faults: one TOML file for each area, in this folder."""

import pathlib
import tomllib
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
SUITES = ("default", "thorough")
_FIELDS = {"name", "why", "patch", "tests", "suite", "reason", "kernels"}


@dataclass(frozen=True)
class Patch:
    """A place of the package as it is written, and its broken form."""

    file: str
    line: str
    broken: str


@dataclass(frozen=True)
class Fault:
    """A planted fault, and the tests that must be red on it.

    Attributes
    ----------
    name, area : the area is the name of its file.
    why : what it breaks, one sentence.
    patches : places of the package, each of which occurs once.
    tests : arguments of pytest.
    suite : "default" or "thorough", the suite that runs the tests.
    reason : why no test of the default suite sees it; empty for those of the default suite.
    kernels : compiled modules to be made anew beside those whose `.pyx` is patched.
    """

    name: str
    area: str
    why: str
    patches: tuple[Patch, ...]
    tests: tuple[str, ...]
    suite: str = "default"
    reason: str = ""
    kernels: tuple[str, ...] = ()


def _fault(area, entry):
    """One entry of a file; raises ValueError for one that says too little or too much."""
    strange = set(entry) - _FIELDS
    if strange or not {"name", "why", "patch", "tests"} <= set(entry):
        raise ValueError(f"{area}: an entry has name, why, patch and tests; got {sorted(entry)}")
    suite, reason = entry.get("suite", "default"), entry.get("reason", "")
    if suite not in SUITES or (suite == "thorough") != bool(reason):
        raise ValueError(f"{area}: {entry['name']}: a thorough test, and no other, has a reason")
    if not entry["patch"] or not entry["tests"]:
        raise ValueError(f"{area}: {entry['name']}: a fault has a patch and a test")
    patches = tuple(Patch(**place) for place in entry["patch"])
    kernels = tuple(entry.get("kernels", ()))
    return Fault(entry["name"], area, entry["why"], patches, tuple(entry["tests"]), suite, reason, kernels)


def areas():
    """area -> its title, in the order of the files' names."""
    files = sorted(FOLDER.glob("*.toml"))
    return {file.stem: tomllib.loads(file.read_text(encoding="utf-8"))["title"] for file in files}


def read():
    """All faults of all areas."""
    faults = []
    for area in areas():
        text = (FOLDER / f"{area}.toml").read_text(encoding="utf-8")
        faults += [_fault(area, entry) for entry in tomllib.loads(text)["fault"]]
    return faults
