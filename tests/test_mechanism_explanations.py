"""What tests/test_explanations.py does not look at, for the pages on one mechanism each: the proof, and the picture."""

import pathlib
import re

import pytest

pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")

from bench.figures import mechanisms

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("name", mechanisms.PICTURES)
def test_an_explanation_shows_its_picture_and_leads_to_its_proof(name):
    page = (ROOT / "docs" / "explanation" / f"{name}.md").read_text()
    assert f"](../images/idea_{name}.svg)" in page.partition("## Idea")[2].partition("\n## ")[0]
    proved = page.partition("## What is proved")[2].partition("\n## ")[0]
    assert re.search(rf"src/dplr/mechanisms/\w+/{name}\.md\)", proved)


@pytest.mark.parametrize("name", mechanisms.PICTURES)
def test_a_picture_that_is_drawn_again_says_what_the_committed_one_says(name, tmp_path):
    """Titles and labels: curves may differ in a digit between versions of matplotlib."""
    mechanisms.main(str(tmp_path), name)
    again, committed = (
        re.findall(r"<!-- (.*) -->", (folder / f"idea_{name}.svg").read_text())
        for folder in (tmp_path, ROOT / "docs" / "images")
    )
    assert again == committed != []
