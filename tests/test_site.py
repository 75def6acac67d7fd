"""The documentation site as Sphinx reads it: every page can be reached, and every public name has one page."""

import collections
import contextlib
import importlib
import io
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tomllib
import warnings

import click
import pytest

import api_pages
import command_pages
import dplr
import layout
import links
import members
import pages
import queries
from dplr.cli import main

GALLERY = sorted((pages.ROOT / "docs" / "gallery").glob("*.py"))
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RST_TOCTREE = re.compile(r"^\.\. toctree::\n((?:[ ]+.*\n|\n)*)", re.MULTILINE)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The folder that Sphinx reads."""
    folder = tmp_path_factory.mktemp("site") / "source"
    layout.lay_out(folder)
    return folder


def below(source, page):
    """The pages in the navigation below a page, as paths without a suffix."""
    file = next(path for path in (source / f"{page}.md", source / f"{page}.rst") if path.exists())
    text = file.read_text()
    entries = [
        line.strip() for block in [*TOCTREE.findall(text), *RST_TOCTREE.findall(text)] for line in block.split("\n")
    ]
    names = [re.sub(r"^.*<(.*)>$", r"\1", entry) for entry in entries if entry and not entry.startswith(":")]
    return [name[1:] if name.startswith("/") else str(pathlib.PurePosixPath(page).parent / name) for name in names]


def test_every_page_can_be_reached_in_the_navigation(source):
    every = {
        file.relative_to(source).with_suffix("").as_posix()
        for file in source.rglob("*")
        if file.suffix in {".md", ".rst"}
    }
    made_by_sphinx = {"gallery/index"}
    reached, waiting = set(), ["index"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        if page not in made_by_sphinx:
            waiting += [name for name in below(source, page) if name not in reached]
    assert reached == every | made_by_sphinx


def test_a_page_keeps_its_place_below_docs_and_proofs_lie_below_proofs():
    places = pages.pages()
    assert places[pathlib.Path("docs/use/bounds.md")] == pathlib.PurePosixPath("use/bounds.md")
    assert places[pathlib.Path("src/dplr/noise/noise.md")] == pathlib.PurePosixPath("proofs/noise/noise.md")
    files = {file.relative_to(pages.ROOT) for top in ("docs", "src") for file in (pages.ROOT / top).rglob("*.md")}
    assert {file for file in files if file.parts[:2] not in {("docs", "site"), ("docs", "gallery")}} <= set(places)


def test_relative_links_of_the_site_lead_to_its_files(source):
    dead = []
    for file in source.rglob("*.md"):
        text = "".join(part for part in pages.FENCE.split(file.read_text()) if not part.startswith("```"))
        for link in pages.LINK.findall(text):
            target = link.partition("#")[0]
            if target and "://" not in target and not (file.parent / target).exists():
                dead.append((file.relative_to(source).as_posix(), target))
    assert [each for each in dead if not each[1].endswith("gallery/index.rst")] == []


@pytest.mark.parametrize(
    ("link", "moved"),
    [
        ("bounds.md#columns", "bounds.md#columns"),
        ("../../src/dplr/noise/noise.md", "../proofs/noise/noise.md"),
        ("../../CONTRIBUTING.md", "../develop/contributing.md"),
        ("../gallery", "../gallery/index.rst"),
        (
            "../../src/dplr/noise/__init__.py",
            "https://github.com/dplr-project/dplr/blob/main/src/dplr/noise/__init__.py",
        ),
        ("../../bench/results", "https://github.com/dplr-project/dplr/tree/main/bench/results"),
        ("../images/report.png", "../images/report.png"),
        (
            "../reference/schemas/model-file.schema.json",
            "https://dplr.readthedocs.io/en/stable/reference/schemas/model-file.schema.json",
        ),
        ("https://dplr.readthedocs.io/en/stable/reference/api.html", "../reference/api.rst"),
        ("https://dplr.readthedocs.io/en/stable/use/eps.html#four-steps", "eps.md#four-steps"),
        ("https://www.example.org/page.html", "https://www.example.org/page.html"),
        ("#calls", "#calls"),
    ],
)
def test_links_are_written_for_the_site(link, moved, monkeypatch):
    monkeypatch.delenv("READTHEDOCS_GIT_IDENTIFIER", raising=False)
    text = pages.rewritten(
        f"[a]({link})\n```sh\n[a]({link})\n```\n",
        pathlib.Path("docs/use/ledger.md"),
        pathlib.PurePosixPath("use/ledger.md"),
    )
    assert text == f"[a]({moved})\n```sh\n[a]({link})\n```\n"


def test_the_reference_lists_exactly_the_public_names():
    written = api_pages.pages()
    listed = collections.Counter()
    for module in api_pages.MODULES:
        text = written[pathlib.PurePosixPath(f"reference/{module}.rst")]
        names = [
            line.strip()
            for block in re.findall(r":nosignatures:\n\n((?:   .*\n)+)", text)
            for line in block.splitlines()
        ]
        assert sorted(names) == sorted(api_pages.own_names(module)), module
        offered = re.findall(r"`dplr\.(\w+)`", text)
        assert sorted([*names, *offered]) == sorted(importlib.import_module(module).__all__), module
        listed.update(id(getattr(importlib.import_module(module), name)) for name in names)
    assert max(listed.values()) == 1  # no object has two pages


def commands(command, name="dplr"):
    """The full names of all commands."""
    inside = command.commands.items() if isinstance(command, click.Group) else ()
    return [name, *(full for below, each in inside for full in commands(each, f"{name} {below}"))]


def test_the_page_on_commands_has_each_with_its_options():
    page = command_pages.page()
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert sorted(headings) == sorted(commands(main))
    assert "--ledger" in page.partition("## dplr fit\n")[2].partition("\n## ")[0]


def test_help_of_every_command_comes_without_numpy():
    code = "import sys, command_pages; command_pages.page(); sys.exit('numpy' in sys.modules)"
    path = os.pathsep.join([str(pages.ROOT / "docs" / "site"), *sys.path])
    environment = os.environ | {"PYTHONPATH": path}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


@pytest.fixture
def no_figures():
    """No figures of other tests, and none left to them: pyplot warns of more than twenty."""
    from matplotlib import pyplot

    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize("example", GALLERY, ids=lambda path: path.stem)
def test_an_example_of_the_gallery_runs_and_shows_something(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), warnings.catch_warnings():
        warnings.simplefilter("error")
        names = runpy.run_path(str(example))
    drawn = [each for each in names.values() if type(each).__module__.startswith("matplotlib.axes")]
    assert drawn  # the picture that stands for it in the list
    assert list(tmp_path.iterdir()) == []


def test_the_gallery_has_examples_with_a_title_each():
    assert 6 <= len(GALLERY) <= 12
    for example in GALLERY:
        assert re.match(r'"""\n[A-Z].*\n=+\n\n', example.read_text()), example.name


def test_subjects_stand_on_their_page_of_the_site_alone(source):
    subjects = tomllib.loads(layout.SUBJECTS.read_text())["subjects"]
    entries, _, _, title, *_ = (source / "use" / "eps.md").read_text().splitlines()
    assert entries == "```{index} ! " + ", ! ".join(subjects["use/eps"])
    assert title == "# Choose eps"
    assert "{index}" not in (pages.ROOT / "docs" / "use" / "eps.md").read_text()


def test_every_query_has_a_page(source):
    asked = tomllib.loads(queries.TABLE.read_text())["queries"]
    assert len(asked) >= 40
    assert [page for page in asked.values() if not (source / f"{page}.md").exists()] == []


def test_a_page_that_the_search_does_not_show_is_a_fault(tmp_path, monkeypatch):
    class Box(contextlib.nullcontext):
        def __enter__(self):
            return self

        def pages(self, query):
            return {"one": ["a", "b", "c", "d"], "two": ["d", "c", "b", "a"]}[query]

    (tmp_path / "queries.toml").write_text('[queries]\none = "c"\ntwo = "a"\n')
    monkeypatch.setattr(queries, "TABLE", tmp_path / "queries.toml")
    monkeypatch.setattr(queries, "SearchBox", Box)
    (sentence,) = queries.faults(tmp_path)
    assert sentence == "search for 'two' must show a among its first 3; got d, c, b"


def test_the_page_for_what_is_missing_has_full_addresses(source):
    page = links.Page((source.with_name("served") / "404.html").read_text())
    home = pages.address("Documentation")
    assert page.links
    assert [link for link in page.links if not link.startswith(home)] == []


def test_members_of_other_packages_are_left_out():
    assert members.is_foreign(dplr.LogisticRegression.get_params)
    assert members.is_foreign(str.maketrans)
    assert not members.is_foreign(dplr.LogisticRegression.refit)
    assert not members.is_foreign(dplr.LogisticRegression.coef_names_)


def test_faults_of_a_finished_site_are_seen(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="one">One</h1>')
    sound = '<link rel="canonical" href="https://here.example/a.html"><a href="b.html#one">1</a><a href="https://x.example">2</a>'
    (tmp_path / "a.html").write_text(sound)
    assert links.faults(tmp_path, "https://x.example/") == []
    (tmp_path / "a.html").write_text(
        sound
        + '<a href="c.html">3</a><a href="https://x.example/b.html#two">4</a><script src="//x.example/y.js"></script>'
    )
    found = " ".join(links.faults(tmp_path, "https://x.example/"))
    assert len(links.faults(tmp_path, "https://x.example/")) == 3
    assert all(
        part in found for part in ("c.html, which does not exist", "b.html#two, which has no such", "y.js from another")
    )
