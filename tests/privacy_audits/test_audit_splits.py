"""Audits of secret parts of tables that are kept sorted: sound on the package, red on copies with a fault."""

import pytest

from dplr.estimators import _holdout
from patched_copy import measure_on_a_patched_copy
from splits_audit import CASES, EPS, HIGH, LOW, held_out, law_of_release, loss

pytestmark = pytest.mark.filterwarnings("ignore")
RELATIONS = ["replace_one", "add_remove"]
# The share of eps that a sound package shows: less would be too much noise.
FLOORS = {"holdout replace_one": 0.85, "holdout add_remove": 0.95, "search replace_one": 0.75, "search add_remove": 0.8}


@pytest.mark.parametrize("name", CASES)
def test_neighbours_that_are_kept_sorted_lose_at_most_eps_and_nearly_as_much(name):
    assert FLOORS[name] * EPS <= CASES[name]() <= EPS * (1 + 1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_table_that_is_sorted_again_has_the_same_law(relation):
    """The key of the first record changes, by which somebody keeps the table sorted: all others move up."""
    middle = [HIGH, LOW, LOW]
    laws = [law_of_release(_holdout, held_out, relation, table) for table in ([LOW, *middle], [*middle, LOW])]
    assert loss(*laws) < 1e-9 * EPS


HOLDOUT, SEARCH, SPLITS = "estimators/_holdout.py", "estimators/_search.py", "noise/splits.py"
SAME, OTHER = ([f"{release} {relation}" for release in ("holdout", "search")] for relation in RELATIONS)
HELD, SEARCHED = ([f"{release} {relation}" for relation in RELATIONS] for release in ("holdout", "search"))
BROKEN = {
    "by position": (SAME, SPLITS, "        keys = source.words(n)\n", "        keys = np.sort(source.words(n))\n"),
    "by position, private n": (OTHER[:1], SPLITS, "source.words(n), side", "np.sort(source.words(n)), side"),
    "sizes of a private n": (OTHER, SPLITS, "neighbouring == Neighbouring.REPLACE", "True or Neighbouring.REPLACE"),
    "fit of all rows": (HELD, HOLDOUT, "ready.take(fitted, parts", "ready.take(np.arange(n), parts"),
    "evaluation of all rows": (HELD, HOLDOUT, "part, weights = rows.take(tested), None", "part, weights = rows, None"),
    "evaluation at ten eps": (HELD, HOLDOUT, "beside(plan.statement", "10 * beside(plan.statement"),
    "scores of all rows": (SEARCHED, SEARCH, "trial.ready.take(parts[-1], plan.sizes[-1])", "trial.ready"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_audit_is_red_on_a_broken_copy(fault, tmp_path):
    names, file, line, broken = BROKEN[fault]
    for found in measure_on_a_patched_copy("splits_audit.py", names, 0, file, line, broken, tmp_path):
        assert found > 1.1 * EPS
