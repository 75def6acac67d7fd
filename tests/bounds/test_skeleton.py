"""A bounds file that waits to be filled in: all names, no bound."""

import re
import tomllib

import pytest

import dplr
from dplr.bounds.toml import skeleton

NAMES = {"age": "number", "work": "text", 'odd "name"\n[x]': "unknown", "income": "text"}


def test_it_is_toml_with_a_table_for_each_column_and_no_value():
    found = tomllib.loads(skeleton(NAMES, "income"))
    assert list(found["features"]) == ["age", "work", 'odd "name"\n[x]']
    assert found["target"] == {}
    assert not any(found["features"].values())
    assert "target" not in tomllib.loads(skeleton(NAMES))


def test_it_is_refused_until_it_is_filled_in(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text(skeleton({"age": "number", "income": "text"}, "income"))
    with pytest.raises(ValueError, match=r"\[features.age\].*`lower` is required"):
        dplr.Bounds.from_toml(path)


def test_filled_in_it_is_read(tmp_path):
    text = skeleton({"age": "number", "work": "text", "income": "text"}, "income")
    for empty, value in (("lower =", "lower = 17"), ("upper =", "upper = 90"), ("levels = []", 'levels = ["a", "b"]'),
                         ("classes = []", 'classes = ["no", "yes"]')):  # fmt: skip
        assert len(re.findall(f"^# {re.escape(empty)}$", text, re.M)) == 1
        text = text.replace(f"# {empty}", value)
    path = tmp_path / "bounds.toml"
    path.write_text(text)
    expected = dplr.Bounds({"age": (17, 90), "work": {"levels": ["a", "b"]}}, target={"classes": ["no", "yes"]})
    assert dplr.Bounds.from_toml(path) == expected
