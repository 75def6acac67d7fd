"""Records below docs/develop are short and have one form: decisions, reviews and the changelog."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
RECORDS = ROOT / "docs" / "develop"
DECISIONS = sorted((RECORDS / "decisions").glob("*.md"))
# Decisions with more than 300 words, and the most that each may have.
LONGER = {
    "0021": 500,  # five theorems, and an exact sampler with formulas that stand nowhere else
}
REVIEWS = sorted((RECORDS / "reviews").glob("*.md"))
ROW = re.compile(r"\| [^|]+ \| [^|]+ \|(?: `[\w.]+::\w+`(?:, `[\w.]+::\w+`)*)? \|")


def words(page):
    return len([word for word in page.read_text().split() if any(map(str.isalnum, word))])


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_is_short(page):
    assert words(page) <= LONGER.get(page.name[:4], 300)


def test_the_changelog_is_one_page():
    assert words(ROOT / "CHANGELOG.md") <= 1200


@pytest.mark.parametrize("page", REVIEWS, ids=lambda page: page.stem)
def test_a_review_is_a_paragraph_and_one_table_of_findings(page):
    title, paragraph, table = page.read_text().removesuffix("\n").split("\n\n")
    assert re.fullmatch(r"# Review \d+: .+", title)
    assert not paragraph.startswith(("#", "|", "- "))
    head, rule, *rows = table.split("\n")
    assert (head, rule) == ("| finding | fix | test |", "|---|---|---|")
    assert rows
    assert [row for row in rows if not ROW.fullmatch(row)] == []


@pytest.mark.parametrize("page", REVIEWS, ids=lambda page: page.stem)
def test_a_review_names_tests_that_exist(page):
    named = re.findall(r"`(\w+\.py)::(\w+)`", page.read_text())
    assert named
    for file, test in named:
        assert any(f"def {test}(" in path.read_text() for path in (ROOT / "tests").rglob(file)), (file, test)


def test_records_are_looked_at():
    assert len(DECISIONS) >= 50
    assert len(REVIEWS) >= 24
    assert set(LONGER) <= {page.name[:4] for page in DECISIONS}
