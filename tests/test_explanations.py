"""Pages that explain a mechanism have one form, and pictures that are drawn alike in every run and can be seen."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "explanation").glob("*.md"))
SECTIONS = ["Idea", "How it works", "What is proved", "What it costs", "When it fails", "Read on"]
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL)
FIGURE = re.compile(r"\b0\.\d{3,}\b|\b\d\.\d\d\b")
LINK = re.compile(r"\]\(([^()#\s]+\.md)[^()\s]*\)")
PICTURE = re.compile(r"!\[([^\]]{40,})\]\((\.\./images/[\w.]+)\)")


def section(page, name):
    return page.read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_explanation_has_an_idea_a_proof_and_failures(page):
    assert re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE) == SECTIONS
    assert PICTURE.search(section(page, "Idea"))
    assert "../../src/dplr/" in section(page, "What is proved")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_explanation_is_short(page):
    words = FORMULA.sub("", PICTURE.sub("", page.read_text())).split()
    assert 500 <= len(words) <= 900


def homeless(text, folder=ROOT / "docs" / "explanation"):
    """Figures outside of formulas that no page has to which the text leads."""
    pages = {(folder / link).resolve() for link in LINK.findall(text)}
    homes = "".join(page.read_text() for page in pages if page.parent != folder)
    return [
        each
        for each in FIGURE.findall(FORMULA.sub("", text))
        if not re.search(rf"(?<![\d.]){re.escape(each)}(?!\d)", homes)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_figure_of_an_explanation_stands_on_a_page_that_it_leads_to(page):
    assert len(FIGURE.findall(page.read_text())) >= 5
    assert homeless(page.read_text()) == []


def test_a_figure_without_a_home_is_seen():
    assert homeless("It errs in 0.9876, not in 0.1570 ([accuracy](../trust/accuracy.md#adult)).") == ["0.9876"]


def pictures():
    """The script that draws, which needs matplotlib."""
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    from bench.figures import ideas

    return ideas


def light(color):
    """Relative luminance of #rrggbb (WCAG 2)."""
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    low, high = sorted((light(first), light(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("background", ["#ffffff", "#14181e"])
def test_colors_of_pictures_can_be_seen_on_light_and_on_dark_pages(background):
    ideas = pictures()
    for color in (ideas.INK, ideas.TRUTH, ideas.NOISY, ideas.SECOND):
        assert contrast(color, background) >= 3


def test_pictures_are_the_same_in_every_run(tmp_path):
    ideas = pictures()
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        ideas.draw(folder)
    drawn = sorted(path.name for path in folders[0].iterdir())
    assert drawn == ["idea_functional.svg", "idea_intervals.svg", "idea_tuning.svg"]
    for name in drawn:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
        assert (ROOT / "docs" / "images" / name).exists()
