"""Records of development are short: the changelog, and the page of defaults."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize(("page", "most"), [("CHANGELOG.md", 1200), ("docs/develop/defaults.md", 2000)])
def test_a_record_is_one_page(page, most):
    words = [word for word in (ROOT / page).read_text().split() if any(map(str.isalnum, word))]
    assert len(words) <= most
