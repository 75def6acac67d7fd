"""What the package says of itself elsewhere: versions and addresses have one home, and forms ask for what we need."""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

import dplr

ROOT = pathlib.Path(__file__).parents[1]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIG["project"]
URLS = PROJECT["urls"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def version_of_the_build():
    (found,) = re.findall(r"^  version: '([\d.]+)',$", (ROOT / "meson.build").read_text(), re.MULTILINE)
    return found


def cited(field):
    (found,) = re.findall(rf"^{field}: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    return found


def test_the_version_has_one_home():
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
    assert cited("version") == version_of_the_build() == dplr.__version__


def test_the_citation_names_the_public_addresses():
    assert (cited("repository-code"), cited("url")) == (URLS["Source"], URLS["Documentation"])
    assert cited("license") == PROJECT["license"]


def test_addresses_of_the_source_are_below_the_source():
    below = {"Homepage", "Changelog", "Issues", "Security"}
    assert set(URLS) == below | {"Documentation", "Source"}
    assert all((URLS[name] + "/").startswith(URLS["Source"] + "/") for name in below)
    changelog = URLS["Changelog"].removeprefix(URLS["Source"] + "/blob/main/")
    assert (ROOT / changelog).is_file()


@pytest.mark.parametrize(
    "page",
    [ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", *(path for path in FORMS if path.stem != "feature")],
    ids=lambda path: path.name,
)
def test_whoever_has_found_a_privacy_defect_is_led_to_the_private_form(page):
    assert URLS["Source"] + "/security/advisories/new" in page.read_text()


def test_addresses_outside_of_pyproject_are_its_own():
    """A page that names another owner or another host of the documentation is out of date."""
    pages = [*FORMS, *ROOT.glob("*.md"), ROOT / "CITATION.cff", *(ROOT / ".github").glob("*.md")]
    address = re.compile(r"https://(?:github\.com/[\w-]+/dplr\b|[\w-]+\.readthedocs\.io/en/\w+/)")
    named = {page.name: set(address.findall(page.read_text())) for page in pages}
    assert named["CITATION.cff"] == {URLS["Source"], URLS["Documentation"]}
    assert set().union(*named.values()) == named["CITATION.cff"], named


def test_classifiers_name_what_is_tested():
    names = PROJECT["classifiers"]
    versions = [re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", each) for each in names]
    minors = [int(found[1]) for found in versions if found]
    assert minors == list(range(int(PROJECT["requires-python"].removeprefix(">=3.")), minors[-1] + 1))
    assert [each for each in names if each.startswith("Operating System")] == ["Operating System :: POSIX :: Linux"]


def test_metadata_of_the_installed_package_are_those_of_the_project():
    found = importlib.metadata.metadata("dplr")
    assert (found["Name"], found["Version"]) == (PROJECT["name"], version_of_the_build())


@pytest.mark.parametrize(
    "form", [path for path in FORMS if path.stem in {"bug", "privacy_defect"}], ids=lambda path: path.stem
)
def test_forms_that_take_code_ask_for_made_up_rows(form):
    text = " ".join(form.read_text().split())
    assert "holds no private data" in text
    assert re.search(r"made up\. required: true", text)


def test_the_form_of_a_privacy_defect_asks_for_a_pair_and_an_event():
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / "privacy_defect.yml").read_text()
    assert text.index("Report it privately first") < text.index("label: Two neighbouring data sets")
    assert {"id: neighbours", "id: event", "id: call"} <= {line.strip() for line in text.splitlines()}


def with_fragments(folder, fragments):
    """A copy of what towncrier reads, with fragments; what it would write."""
    pytest.importorskip("towncrier")
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    shutil.copytree(ROOT / "changelog.d", folder / "changelog.d")
    for name, text in fragments.items():
        (folder / "changelog.d" / name).write_text(text)
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.0", "--date", "2030-01-02"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fragments_become_a_section_of_the_changelog(tmp_path):
    kinds = ["privacy", "added", "changed", "fixed", "removed"]
    text = with_fragments(
        tmp_path, {f"+own.{kind}.md": f"The {kind} thing." for kind in kinds} | {"42.added.md": "Two."}
    )
    assert "## 9.9.0 (2030-01-02)" in text
    assert re.findall(r"^### (\w+)$", text, re.MULTILINE) == [kind.capitalize() for kind in kinds]
    assert [f"- The {kind} thing." in text for kind in kinds] == [True] * 5
    assert f"- Two. ([#42]({URLS['Issues']}/42))" in text


def test_fragments_that_wait_are_read(tmp_path):
    """Every file beside the README is of a known type: towncrier drops others without a word."""
    kinds = "|".join(kind["directory"] for kind in CONFIG["tool"]["towncrier"]["type"])
    waiting = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [
        path.name for path in waiting if not re.fullmatch(rf"(\d+|\+[\w-]+)\.({kinds})(\.\d+)?\.md", path.name)
    ] == []
    text = with_fragments(tmp_path, {})
    assert [path.name for path in waiting if path.read_text().split("\n")[0] not in text] == []


def test_the_changelog_has_the_mark_above_its_first_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.count("<!-- towncrier release notes start -->\n") == 1
    assert text.index("<!-- towncrier") < text.index("\n## ")


def test_hooks_before_a_commit_are_what_lint_runs():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    lint = (ROOT / ".ci" / "lint.sh").read_text()
    entries = re.findall(r"^        entry: (?:env \S+ )?(\S+)", hooks, re.MULTILINE)
    programs = {line.split()[0] for line in lint.replace("PYTHONPATH=src ", "").splitlines()[3:] if line}
    assert set(entries) == programs - {"python"}
