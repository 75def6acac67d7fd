"""Pages that explain a mechanism have one form, their figures have a home, and their pictures can be drawn again."""

import pathlib
import re

import pytest

from bench.figures import mechanisms

ROOT = pathlib.Path(__file__).parents[1]
EXPLANATIONS = ROOT / "docs" / "explanation"
SECTIONS = ["Idea", "How it works", "What is proved", "What it costs", "When it fails", "Read on"]
LINK = re.compile(r"\]\(([^()\s]+)\)")
FIGURE = re.compile(r"\b0\.\d{3,}\b|\b\d\.\d\d\b")


def page(name):
    return (EXPLANATIONS / f"{name}.md").read_text()


def linked(text):
    """The pages that a text leads to."""
    targets = {(EXPLANATIONS / link.partition("#")[0]).resolve() for link in LINK.findall(text)}
    return [target for target in targets if target.suffix == ".md"]


def without_a_home(text):
    """Figures of a text that no page has to which it leads."""
    homes = "".join(target.read_text() for target in linked(text) if target.parent != EXPLANATIONS)
    return [figure for figure in FIGURE.findall(text) if not re.search(rf"(?<![\d.]){re.escape(figure)}", homes)]


@pytest.mark.parametrize("name", mechanisms.PICTURES)
def test_an_explanation_has_the_same_sections_as_the_others(name):
    assert re.findall(r"^## (.*)$", page(name), re.MULTILINE) == SECTIONS


@pytest.mark.parametrize("name", mechanisms.PICTURES)
def test_an_explanation_is_read_in_five_minutes(name):
    bare = LINK.sub("]", re.sub(r"\$\$.*?\$\$", "", page(name), flags=re.DOTALL))
    assert 500 <= len(bare.split()) <= 900


@pytest.mark.parametrize("name", mechanisms.PICTURES)
def test_an_explanation_shows_its_picture_and_leads_to_its_proof(name):
    idea = page(name).partition("## Idea")[2].partition("\n## ")[0]
    assert re.search(rf"!\[[^\]]{{40,}}\]\(\.\./images/idea_{name}\.svg\)", idea)
    proved = page(name).partition("## What is proved")[2].partition("\n## ")[0]
    assert f"{name}.md" in {target.name for target in linked(proved) if "mechanisms" in target.parts}


@pytest.mark.parametrize("name", mechanisms.PICTURES)
def test_a_figure_of_an_explanation_stands_on_a_page_that_it_leads_to(name):
    assert len(FIGURE.findall(page(name))) >= 5
    assert without_a_home(page(name)) == []


def test_a_figure_without_a_home_is_seen():
    assert without_a_home("It errs in 0.9876 of the rows ([accuracy](../trust/accuracy.md)).") == ["0.9876"]


@pytest.mark.parametrize("name", mechanisms.PICTURES)
def test_a_picture_can_be_drawn_and_is_committed(name, tmp_path):
    mechanisms.main(str(tmp_path), name)
    again = (tmp_path / f"idea_{name}.svg").read_text()
    committed = (ROOT / "docs" / "images" / f"idea_{name}.svg").read_text()
    assert "<svg" in committed
    assert re.findall(r"<!-- (.*) -->", again) == re.findall(r"<!-- (.*) -->", committed)  # titles and labels
