"""`python tests/size`, which `make lint` runs, sees a package that grows, and a limit that has not fallen with it."""

import ast
import tomllib

from tests.size import measures
from tests.size.measures import broken

LIMITS = tomllib.loads((measures.ROOT / "tests" / "size" / "limits.toml").read_text(encoding="utf-8"))


def test_every_limit_that_rose_has_its_reason():
    for rise in LIMITS.get("rise", []):
        assert set(rise) == {"limit", "from", "to", "reason"}
        assert rise["to"] > rise["from"]
        assert len(rise["reason"]) > 20
        assert any(rise["limit"] in LIMITS[part] for part in ("source", "rooms", "package"))


def test_numbers_above_and_far_below_their_limits_are_named():
    assert broken({"lines": 101}, {"lines": 100}) == ["lines: 101 is above its limit of 100"]
    assert broken({"lines": 98}, {"lines": 100}) == ["lines: 98: lower its limit of 100"]
    assert broken({"lines": 99}, {"lines": 100}) == []
    assert broken({"files": 1}, {"lines": 1}) == ["files has no limit", "nothing is measured for lines"]


def test_ideas_are_counted_where_they_stand():
    tree = ast.parse(
        "def f(eps, delta, bounds, classes, l2, rng):\n    return g(eps=1, delta=2, bounds=3, classes=4, l2=5, rng=6)\n"
        "class A:\n    def to_csv(self):\n        return PrivacyStatement(1)\n"
    )
    assert measures.option_lists(tree) == 2
    assert measures.printing_classes(tree) == 1
    assert measures.calls_to(tree, "PrivacyStatement") == 1


def test_files_that_import_each_other_are_a_cycle():
    path = measures.SOURCE
    trees = {
        path / "a.py": ast.parse("from dplr.b import x"),
        path / "b.py": ast.parse("def f():\n    import dplr.c"),
        path / "c.py": ast.parse("from dplr import a"),
        path / "d.py": ast.parse("import dplr.a"),
    }
    (cycle,) = measures.cycles(trees)
    assert {each.stem for each in cycle} == {"a", "b", "c"}
