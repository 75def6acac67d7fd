"""A release: tags that may be published, files that are counted, builds that are compared, and versions in recipes."""

import importlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

from bench.wheels import building, reproducible

ROOT = pathlib.Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="not in a checkout")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module


def git(folder, *command):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tagged(tmp_path):
    """A repository whose main has one commit, and a branch one more; both have the tag of the version."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path, "checkout", "-q", "-b", "aside")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "second")
    return tmp_path


@pytest.mark.parametrize(("branch", "tag", "words"), [
    ("main", "v{}", []), ("aside", "v{}", ["must be on main"]), ("main", "v{}.1", ["must be v"]),
    ("aside", "{}", ["must be v", "must be on main"]),
])  # fmt: skip
def test_a_tag_is_the_version_and_on_main(script, tagged, branch, tag, words):
    tagged_commits = script("tagged")
    name = tag.format(tagged_commits.version())
    git(tagged, "tag", name, branch)
    found = tagged_commits.faults(name, tagged, "main")
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))


def names_of_a_release(artifacts):
    return [pattern.replace("macosx_*", "macosx_11_0").replace("*", "_2_28") for pattern in artifacts.patterns()]


def test_a_release_has_a_wheel_of_each_kind_on_each_platform(script):
    names = names_of_a_release(script("artifacts"))
    wheels = [name.split("-", 2)[2] for name in names if name.endswith(".whl")]
    kinds = {"-".join(name.split("-")[:2]) for name in wheels}
    assert kinds == {"cp311-abi3", "cp314-cp314t", "cp315-cp315t"}
    runners = 5
    assert len(set(wheels)) == len(kinds) * runners
    assert len(names) == len(wheels) + 1


def test_files_of_a_release_are_counted(script):
    artifacts = script("artifacts")
    names = names_of_a_release(artifacts)
    assert artifacts.faults(names) == []
    assert [sentence[:14] for sentence in artifacts.faults(names[1:])] == ["one file must "]
    assert artifacts.faults([*names, "dplr-9.9-py3-none-any.whl"]) == [
        "dplr-9.9-py3-none-any.whl is no file of a release"
    ]
    twice = names[1].replace("manylinux_2_28", "manylinux_2_17")
    assert "got ['dplr-" in artifacts.faults([*names, twice])[0]


def test_hashes_are_written_of_a_whole_release_alone(script, tmp_path):
    artifacts = script("artifacts")
    folder, out = tmp_path / "dist", tmp_path / "SHA256SUMS"
    folder.mkdir()
    names = names_of_a_release(artifacts)
    for name in names[1:]:
        (folder / name).write_text(name)
    assert artifacts.main(folder, out) == 1
    assert not out.exists()
    (folder / names[0]).write_text("source")
    assert artifacts.main(folder, out) == 0
    assert sorted(line.split("  ")[1] for line in out.read_text().splitlines()) == sorted(names)
    assert "41cf6794ba4200b839c53531555f0f3998df4cbb01a4d5cb0b94e3ca5e23947d  dplr-" in out.read_text()


def wheel(folder, content=b"code", time=(2026, 1, 1, 0, 0, 0), mode=0o644, names=("a.py", "b.so")):
    folder.mkdir(exist_ok=True)
    path = folder / "dplr-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name in names:
            info = zipfile.ZipInfo(name, time)
            info.external_attr = mode << 16
            packed.writestr(info, content if name == "b.so" else b"")
    return path


@pytest.mark.parametrize(("other", "sentence"), [
    ({}, []), ({"content": b"kode"}, ["content of b.so"]), ({"names": ("b.so", "a.py")}, ["order of members"]),
    ({"time": (2026, 1, 1, 0, 0, 2)}, ["time of a.py", "time of b.so"]), ({"names": ("a.py",)}, ["b.so is in one"]),
    ({"mode": 0o600}, ["mode of a.py", "mode of b.so"]),
])  # fmt: skip
def test_members_that_differ_between_two_builds_are_named(tmp_path, other, sentence):
    first, second = wheel(tmp_path / "first"), wheel(tmp_path / "second", **other)
    found = reproducible.faults([first], [second])
    assert len(found) == len(sentence)
    assert all(words in said for words, said in zip(sentence, found, strict=True))


def test_a_source_distribution_of_another_owner_is_another_one(tmp_path):
    paths = []
    for owner in ("root", "builder"):
        path = tmp_path / owner / "dplr-1.0.tar.gz"
        path.parent.mkdir()
        with tarfile.open(path, "w:gz") as packed:
            info = tarfile.TarInfo("dplr-1.0/PKG-INFO")
            info.uname = owner
            packed.addfile(info)
        paths.append(path)
    assert reproducible.faults(paths[:1], paths[1:]) == ["dplr-1.0.tar.gz: owner of dplr-1.0/PKG-INFO"]


@pytest.mark.skipif(os.name == "nt", reason="no rights of groups and others")
def test_a_build_has_the_time_of_the_commit_and_rights_of_nobody_in_particular(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    path = tmp_path / "made"
    old = os.umask(0o077)
    try:
        code = f"import os; open({str(path)!r}, 'w').write(os.environ['SOURCE_DATE_EPOCH'])"
        building.run(sys.executable, "-c", code)
    finally:
        os.umask(old)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("1700000000", 0o644)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    commit = ["git", "log", "-1", "--format=%ct"]
    told = subprocess.run(commit, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    assert not told or building.last_commit() == told


def test_builds_without_archives_are_a_fault(tmp_path):
    assert "must make the same archives" in reproducible.faults([], [])[0]


def recipe():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())


def as_conda(requirements):
    """Requirements of pyproject.toml as a recipe spells them."""
    return {re.sub(r"(\w) ?>=", r"\1 >=", requirement) for requirement in requirements}


def test_recipes_have_the_version_of_the_package(script):
    version = script("tagged").version()
    assert recipe()["context"]["version"] == version
    assert f'image.version="{version}"' in (ROOT / "packaging" / "Containerfile").read_text()


def test_the_recipe_asks_for_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    needs = recipe()["requirements"]
    command_line = {
        text for name in ("files", "progress", "cli") for text in extras[name] if not text.startswith("dplr")
    }
    assert set(needs["run"]) - {"python >=3.11"} == as_conda([*project["project"]["dependencies"], *command_line])
    assert set(needs["host"]) - {"python", "pip"} == as_conda(project["build-system"]["requires"])
    assert recipe()["about"]["summary"] == project["project"]["description"]
    assert recipe()["build"]["python"]["entry_points"] == [f"dplr = {project['project']['scripts']['dplr']}"]


def test_the_container_runs_the_command_as_nobody_special():
    lines = (ROOT / "packaging" / "Containerfile").read_text().splitlines()
    last = lines[max(k for k, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert "USER 10001" in last
    assert 'ENTRYPOINT ["dplr"]' in last
    assert not any(line.startswith(("ADD ", "EXPOSE ")) for line in lines)
