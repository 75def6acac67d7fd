"""What a table may be silent about is said before anything is paid, of narrow columns, from public facts alone."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.fitting.facts import public_facts
from dplr.planner import preview as module
from dplr.planner.points import announced
from dplr.planner.preview import BASIS, preview

N = 10_000
DECLARED = {"size": (0, 6), "depth": (40, 80), "table": (40, 100)}
BOUNDS = dplr.Bounds(DECLARED, target=(0.0, 20_000.0))
FIT = {"model": "linear", "bounds": BOUNDS, "delta": 1e-6, "aim": "coefficients"}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(module, "_LAST", {})


def stones(n=N, seed=0):
    """Numbers that fill a small part of a codebook's bounds."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "size": rng.lognormal(-0.4, 0.55, n).clip(0.2, 5),
        "depth": rng.normal(61.7, 1.4, n).clip(43, 79),
        "table": rng.normal(57.5, 2.2, n).clip(43, 95),
    })  # fmt: skip
    return X, (5000 + 7700 * X["size"] - 140 * (X["depth"] - 61.7) + rng.normal(0, 1500, n)).clip(300, 19_000)


def of(n=N, eps=1.0, **facts):
    return preview(public_facts(n_rows=n, **{**FIT, **facts}), eps)


def said(X, y, eps=1.0, **options):
    """The warnings of a fit about lines that may say nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dplr.fit(X, y, eps=eps, **{**FIT, **options})
    return [str(one.message) for one in caught if BASIS in str(one.message)]


def test_what_is_promised_is_told_and_what_narrow_columns_do_not_tell_is_not_promised():
    assert [*announced(of().lines)] == [[], ["size", "depth", "table", "(intercept)"]]
    with pytest.warns(dplr.UtilityWarning, match="May say nothing: size, depth, table and"):
        silent = dplr.fit(*stones(), eps=1.0, **FIT)
    assert all(np.isinf(ends).all() for ends in silent.conf_int().values())
    assert of(10 * N).warning == ""
    for seed in range(3):
        spoken = dplr.fit(*stones(10 * N, seed), eps=1.0, **FIT)
        assert all(np.isfinite(ends).all() for ends in spoken.conf_int().values())


def test_a_fit_that_is_expected_to_speak_says_nothing():
    assert said(*stones(10 * N)) == []
    assert said(*stones(), aim="prediction") == []
    assert said(*stones(), eps=float("inf")) == []


@pytest.mark.parametrize("holdout", [None, 0.2])
def test_the_warning_comes_before_anything_is_reserved(tmp_path, holdout, entropy):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=5.0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplr.UtilityWarning)
        with pytest.raises(dplr.UtilityWarning, match="May say nothing"):
            dplr.fit(*stones(), eps=1.0, ledger=ledger, holdout=holdout, **FIT)
    assert ledger.spent() == (0, 0)
    assert ledger.entries() == []
    assert entropy.bytes == 0


def test_rows_with_the_same_public_facts_have_the_same_warning():
    X, y = stones()
    other = pd.DataFrame({name: np.linspace(low, high, N) for name, (low, high) in DECLARED.items()})
    (first,), (second,) = said(X, y), said(other, np.full(N, 9.0))
    assert first == second == of().warning
    (with_more,) = said(X.assign(cut="a", price=y)[["cut", "table", "price", "depth", "size"]], y)
    assert with_more == first


def test_a_preview_is_made_once_for_equal_public_facts(monkeypatch):
    X, y = stones()
    warned = said(X, y)
    monkeypatch.setattr(module, "simulator", None)
    assert said(X, y) == warned
    with pytest.raises(TypeError):
        said(X, y, eps=0.9)


def test_an_advice_says_in_numbers_what_would_make_lines_speak():
    words = of().warning
    assert (
        "`size` has bounds 6 wide; at 1.5 wide, or with a deviation of 12% of them, and other numbers likewise, the"
        in words
    )
    assert all(not of()._unsaid(1.0, 0, spread=dict.fromkeys(DECLARED, (0.5, 0.12)))[name] for name in DECLARED)
    one = dplr.Bounds({"depth": (40, 80)}, target=(0.0, 20_000.0))
    assert (
        "40 wide; at 20 wide, or with a deviation of 6% of them, its line would speak."
        in of(2000, 1.0, bounds=one).warning
    )
    transformed = {"gain": {"lower": 0, "upper": 1000, "transform": "log1p"}}
    eps = of(8000, 0.5, bounds=dplr.Bounds(transformed, target=(0.0, 20_000.0))).warning
    assert "At eps = 1 the lines of log1p(gain) and (intercept) would speak." in eps


def test_flags_are_what_is_declared_as_one():
    rates = dplr.Bounds({"share": (0.0, 1.0), "male": (0, 1), "old": (False, True)}, target=(0.0, 1.0))
    facts = dplr.plan_curve(bounds=rates, n_rows=20_000, eps=1.0, model="linear", aim="coefficients", intervals=True,
                            assume=dplr.planner.Assumptions(tables=2, fits=1)).assumptions  # fmt: skip
    assert "flags have these shares of 1: male 0.1, old 0.1" in facts
    assert "numbers have a deviation of 3% of their bounds, around the middle" in facts
    assert "where columns fill their bounds, flags have these shares of 1: male 0.333, old 0.333" in facts
    with pytest.raises(ValueError, match="`shares` must name flags"):
        dplr.plan_curve(
            bounds=rates, n_rows=900, eps=1.0, model="linear", assume=dplr.planner.Assumptions(shares={"share": 0.2})
        )


def test_there_is_no_preview_where_public_facts_do_not_tell():
    assert of(None, neighbouring="add_remove") is None
    assert of(public=([0.0, 0.0, 0.0], 0.0)) is None
    assert of(aim="prediction", mechanism="objective", delta=0.0) is None
    assert of(aim="prediction", mechanism="fm").lines


def test_more_rows_than_are_simulated_count_as_they_are():
    few, many = of(40_000, 0.1), of(100_000_000, 0.1)
    assert few.warning
    assert many.warning == ""


def test_no_fewer_lines_speak_where_columns_fill_their_bounds():
    bounds = dplr.Bounds(DECLARED | {"cut": {"levels": list("abcdefgh")}}, target=(0.0, 20_000.0))
    for line in of(20_000, bounds=bounds).lines:
        assert line.best_unsaid <= line.unsaid


def test_a_line_that_says_hardly_more_than_its_bound_is_not_promised():
    """Noise leaves levels and flags the bound of their effect, which was known before."""
    bounds = dplr.Bounds({"k": {"levels": list("opqrs")}, "f": (0, 1)}, target=(-2.0, 5.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert of(3000, 0.03, bounds=bounds).silent
    assert "k=p" in of(3000, 0.03, bounds=bounds).warning
    assert not of(30_000, 3.0, bounds=bounds).silent


def test_many_coefficients_are_not_foreseen_and_take_no_time(monkeypatch):
    def simulated(*_, **__):
        raise AssertionError("a preview of many coefficients takes minutes")

    monkeypatch.setattr(module, "simulator", simulated)
    levels = dplr.Bounds({"k": {"levels": list(range(50))}}, target=(0.0, 1.0))
    for table in (of(bounds=levels), of(bounds=dplr.Bounds([(0.0, 1.0)] * 40, target=(0.0, 1.0)), n_features=40)):
        assert "is not foreseen" in table.warning
        assert not table.silent
