"""The regression table of the docs: what its models say, and no narrower than without privacy."""

import re
from pathlib import Path

import pytest

import dplr

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/use/regression-table.md").read_text(encoding="utf-8")


def block(name):
    (found,) = re.findall(rf"<!-- {name} -->\n```text\n(.*?)\n```\n<!-- /{name} -->", PAGE, flags=re.S)
    return found


def plain(name):
    """Name -> low and high end of statsmodels' interval."""
    rows = [line.split() for line in block(f"{name}-statsmodels").splitlines()[1:]]
    return {row[0]: (float(row[-2]), float(row[-1])) for row in rows}


@pytest.mark.parametrize("name", ["income", "insured"])
def test_the_table_of_the_page_is_that_of_its_model(name):
    model = dplr.load_model(ROOT / f"docs/examples/acs_{name}.model.json")
    assert block(name) == model.summary().to_text()
    assert "Not private" not in block(name)


@pytest.mark.parametrize("name", ["income", "insured"])
def test_private_intervals_meet_those_without_privacy_and_are_not_narrower(name):
    private = dplr.load_model(ROOT / f"docs/examples/acs_{name}.model.json").conf_int()
    without = plain(name)
    assert list(private) == list(without)
    for column, (low, high) in private.items():
        assert low < without[column][1]
        assert high > without[column][0]
        assert high - low > 0.99 * (without[column][1] - without[column][0])
