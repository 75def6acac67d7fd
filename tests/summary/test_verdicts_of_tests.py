"""The tests below a table ask for the verdicts of lines at 95 %, which the table may have already."""

import warnings

import numpy as np
import pytest

import dplr
from dplr.summary import statistics


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


def test_tests_below_a_table_are_the_same_at_every_level(model):
    tables = [model.summary(level=level, joint=joint) for level, joint in ((0.95, False), (0.5, False), (0.95, True))]
    verdicts = [[line.verdict for line in table.lines] for table in tables]
    assert any(other != verdicts[0] for other in verdicts)
    assert len(tables[0].tests) == 3
    for table in tables[1:]:
        assert table.tests == tables[0].tests


@pytest.mark.parametrize(("level", "joint", "searches"), [(0.95, False, 0), (0.95, True, 1), (0.9, False, 1)])
def test_lines_are_searched_once_for_all_tests_and_not_again_where_the_table_has_them(
    model, monkeypatch, level, joint, searches
):
    seen, verdicts = [], statistics.term_verdicts
    monkeypatch.setattr(statistics, "term_verdicts", lambda *case: seen.append(case) or verdicts(*case))
    model.summary(level=level, joint=joint)
    assert len(seen) == searches
