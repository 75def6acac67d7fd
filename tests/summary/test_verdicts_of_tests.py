"""The tests below a table read the verdicts of its lines, and no p-value contradicts the interval beside it."""

import warnings

import numpy as np
import pytest

import dplr
from dplr.inference import intervals as inference


@pytest.fixture(scope="module")
def model():
    """Two columns of levels, of which some are rare, so that lines are of several kinds."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    levels = {"a": list("uvwx"), "b": list("rst")}
    table = pd.DataFrame({
        "a": rng.choice(levels["a"], 3000, p=[0.6, 0.28, 0.07, 0.05]),
        "b": rng.choice(levels["b"], 3000, p=[0.5, 0.4, 0.1]),
    })  # fmt: skip
    y = np.clip(rng.normal(0.4, 0.1, 3000) + 0.2 * (table["a"] == "v"), 0, 1)
    bounds = dplr.Bounds({name: {"levels": known} for name, known in levels.items()}, target=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        return dplr.LinearRegression(eps=1.0, bounds=bounds, mechanism="fm", rng=7).fit(table, y)


LEVELS = [(0.5, False), (0.95, False), (0.95, True), (0.99, False)]
FIRM = {"bounded", "bounded by effect_bound"}


@pytest.fixture(scope="module")
def tables(model):
    """Tables of several levels, and how often the lines were searched for the tests alone."""
    seen, searched = [], inference.ends_alone
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "ends_alone", lambda *case: seen.append(case) or searched(*case))
        return [model.summary(level=level, joint=joint) for level, joint in LEVELS], len(seen)


def test_tests_below_a_table_say_what_its_lines_say(tables):
    """A block is tested as one of which a part is known where a line of it is not firm in the same table."""
    tables, searches = tables
    assert searches == 0
    assert len({tuple(line.verdict for line in table.lines) for table in tables}) > 1
    assert len({table.tests for table in tables}) > 1
    for table in tables:
        assert len(table.tests) == 3
        for test in table.tests:
            begins = ("a=", "b=") if " " in test.name else f"{test.name}="
            members = [line for line in table.lines if line.name.startswith(begins)]
            firm = {line.verdict in FIRM for line in members}
            assert (test.verdict in FIRM) == (firm == {True}), (test, members)


def test_no_p_value_contradicts_its_interval(tables):
    for table, (level, _) in zip(tables[0], LEVELS, strict=True):
        lines = [line for line in table.lines if line.bounded]
        assert len(lines) >= 3
        for line in lines:
            outside = not line.low <= 0 <= line.high
            assert line.p_value <= 1 - level + 1e-12 if outside else line.p_value >= 1 - level - 1e-12
