"""What a noisy table costs, what is refused before the ledger is asked, and what is never said of the rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.baselines.test_models import BOTH, LABELLED, data, made

import dplr
from dplr import baselines, report

# The ledger


@BOTH
def test_a_fit_spends_its_eps_and_more_than_there_is_is_refused_before_a_row_is_read(kind, tmp_path, entropy):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    X, y = data()
    made(kind, eps=0.6, ledger=ledger).fit(X, y > 0)
    assert ledger.spent() == (0.6, 0.0)
    used = entropy.bytes
    with pytest.raises(dplr.BudgetExceeded):
        made(kind, eps=0.6, ledger=ledger).fit(X * np.nan, y > 0)
    assert (ledger.spent(), entropy.bytes) == ((0.6, 0.0), used)


def test_a_table_beyond_64_bits_is_entered_in_a_ledger(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    X = np.random.default_rng(0).uniform(0, 1, (200, 8))
    bounds = dplr.Bounds([(0, 1)] * 8)
    baselines.FilterPriority(eps=0.5, bounds=bounds, bins=10**3, ledger=ledger).fit(X, X[:, 0] > 0.5)
    assert ledger.spent() == (0.5, 0.0)
    assert len(ledger.entries()) == 1


@BOTH
@pytest.mark.parametrize("fault", ["nan", "label"])
def test_faulty_rows_are_refused_before_any_noise_and_the_budget_comes_back(kind, fault, tmp_path, entropy):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    X, y = data()
    y = (y > 0).astype(int)
    if fault == "nan":
        X[7, 1] = np.nan
    else:
        y[7] = 5
    with pytest.raises(ValueError, match="finite; got 1 of 3000" if fault == "nan" else "only its labels; got 1"):
        made(kind, eps=0.6, ledger=ledger).fit(X, y)
    assert (ledger.spent(), entropy.bytes) == ((0.0, 0.0), 0)


@BOTH
def test_columns_of_another_type_than_declared_are_refused_before_the_ledger_is_asked(kind, tmp_path, entropy):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    frame = pd.DataFrame({"age": [18.0, 60.0], "work": [0.0, 20.0]})
    bounds = dplr.Bounds({"age": (18, 99), "work": {"levels": ["none", "some"]}})
    with pytest.raises((ValueError, TypeError), match="work"):
        made(kind, bounds=bounds, eps=0.3, ledger=ledger).fit(frame, np.array([True, False]))
    assert (ledger.spent(), ledger.entries(), entropy.bytes) == ((0.0, 0.0), [], 0)


def test_the_data_holder_is_told_of_values_outside_the_bounds():
    X, y = data()
    X[:30] = 99
    with pytest.warns(dplr.DataWarning, match="outside their bounds"):
        made(baselines.DPME, eps=1.0).fit(X, y > 0)


# What is refused


REFUSED = [
    ({"bounds": None}, ValueError, "`bounds` must be declared for a table of counts; got None"),
    ({"bounds": dplr.Bounds([(0, 10), (-1, 1)], products=[(0, 1)])}, ValueError, "`bounds` must have no products"),
    ({"model": "svm"}, ValueError, "`model` must be one of 'logistic', 'linear'"),
    ({"classes": (0, 1, 2)}, ValueError, "`classes` must be two labels"),
    ({"neighbouring": "add_remove"}, ValueError, "`n_rows` must be declared under add_remove"),
    ({"bins": 0}, ValueError, "`bins` must be at least 1; got 0"),
    ({"bins": 2.5}, TypeError, "`bins` must be an integer"),
    ({"bins": [3, 4]}, ValueError, "`bins` must be None, a number, or 3 of them"),
    ({"bins": 2**40}, ValueError, "`bins` must be at most 2\\^20"),
    ({"bins": "many"}, TypeError, "`bins` must be an integer"),
    ({"eps": 0.0}, ValueError, "`eps` must be positive"),
    ({"rng": "now"}, TypeError, "`rng` must be None or an int"),
]


@BOTH
@pytest.mark.parametrize(("options", "error", "said"), REFUSED)
def test_bad_parameters_are_refused_before_any_noise(kind, options, error, said, entropy):
    X, y = data()
    with pytest.raises(error, match=said):
        made(kind, **options).fit(X, y > 0)
    assert entropy.bytes == 0


def test_tables_of_which_too_many_empty_cells_would_pass_are_refused(entropy):
    X, y = data()
    for kind, options in ((baselines.DPME, {}), (baselines.FilterPriority, {"theta": 3})):
        with pytest.raises(ValueError, match="`bins` must leave at most 67108864 empty cells"):
            made(kind, bins=100_000, **options).fit(X, y > 0)
    assert entropy.bytes == 0


SLOW = [
    ({"eps": 1e-9}, "`eps` must be at least 7.62939453125e-06 for a table of counts, .*; got 1e-09. Give a larger eps"),
    ({"eps": 3e-6, "neighbouring": "add_remove", "n_rows": 9}, "`eps` must be at least 3.814697265625e-06"),
    ({"theta": 2**15 + 1}, "`theta` must be at most 32768; got 32769. Left out"),
    ({"theta": 10**12, "eps": 20.0}, "`theta` must be at most 32768; got 1000000000000"),
    ({"bins": 2**20, "eps": 1e-4}, "`theta` must be at most 32768; got .* larger `eps`, or fewer `bins`"),
]


@pytest.mark.parametrize(("options", "said"), SLOW)
def test_noise_that_would_take_too_long_is_refused_by_public_facts_before_the_ledger_is_asked(
    options, said, tmp_path, entropy
):
    ledger = dplr.Ledger(tmp_path / "budget", eps=100.0)
    X, y = data()
    with pytest.raises(ValueError, match=said):
        made(baselines.FilterPriority, **{"bins": 3, "ledger": ledger} | options).fit(X, y > 0)
    assert (ledger.spent(), ledger.entries(), entropy.bytes) == ((0.0, 0.0), [], 0)


def test_the_largest_threshold_and_the_smallest_eps_are_taken():
    X, y = data(50)
    assert made(baselines.FilterPriority, bins=3, theta=2**15).fit(X, y > 0).released_["cells"].size == 0
    assert made(baselines.DPME, bins=3, eps=2.0**-17).fit(X, y > 0).released_["cells"].size > 0


@pytest.mark.parametrize("eps", [0.1, 3.2])
@pytest.mark.parametrize("kind", [baselines.DPME, baselines.FilterPriority])
def test_settings_of_printed_figures_are_within_the_limits(kind, eps):
    """Fourteen columns with the target, 370,000 rows, five bins: planned, not fitted."""
    bounds = dplr.Bounds([{"levels": [0, 1], "binary": True}] * 6 + [(0, 1)] * 7, target=(0, 1))
    est = made(kind, "linear", bounds=bounds, eps=eps)
    ready = est._plain_model()._prepared(np.zeros((2, 13)), np.zeros(2), bounds, [eps])
    plan = est._plan(replace(ready.facts, n_rows=370_000), eps)
    assert plan.grid.cells == 2**6 * 5**8


@pytest.mark.parametrize(("name", "value"), [("theta", 0), ("size", 0), ("theta", 1.5), ("size", None)])
def test_bad_thresholds_and_sizes_are_refused(name, value):
    X, y = data()
    options = {name: value} if value is not None else {"neighbouring": "add_remove", "bins": 3, "theta": 2}
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must be|`n_rows` must be declared.*`{name}`"):
        made(baselines.FilterPriority, **options).fit(X, y > 0)


def test_a_linear_model_needs_the_range_of_its_target():
    X, y = data()
    with pytest.raises(ValueError, match="`bounds` must declare the range of a numeric target"):
        made(baselines.DPME, "linear", bounds=LABELLED).fit(X, y)


def test_a_report_of_a_baseline_is_refused_by_a_sentence():
    X = np.random.default_rng(0).uniform(0, 10, (50, 2))
    est = baselines.DPME(eps=1.0, bounds=dplr.Bounds([(0, 10), (0, 10)])).fit(X, X[:, 0] > 5)
    with pytest.raises(ValueError, match="`est` must be a model by a mechanism of dplr; got 'DPME'"):
        report.report_html(est)
