"""Curves: what rows become, and that they stay in their simplex and in the ball, in integers and in every bit."""

import math
import pathlib
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import dplr
from broken_copies import assert_breakable, assert_red
from dplr._core import cpu_paths
from dplr.bounds.scaling import layout_prep
from dplr.problem.geometry import GRID
from dplr.problem.losses import SQUARED
from dplr.rows import ArrayRows, Encoder, as_table
from dplr.rows.exact import Moments
from dplr.rows.losses import LossGradient

LAYOUTS = 12
WILD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -0.0]


def curve(rng):
    """A curve with even knots or others, with a transform, a line, a policy for what is missing, or without."""
    transform = rng.choice(["clip", "clip", "log1p", "log", "sqrt"])
    low = round(float(rng.uniform(-50, 50)), 3)
    low = low if transform == "clip" else abs(low) + 0.5 * (transform == "log")
    high = low + float(rng.choice([1e-6, 1.0, 80.0, 1e6]))
    inside = np.unique(low + (high - low) * rng.uniform(0.01, 0.99, rng.integers(1, 6)))
    column = {"lower": low, "upper": high, "knots": int(rng.integers(3, 12)) if rng.random() < 0.5 else inside.tolist()}
    column |= {} if transform == "clip" else {"transform": str(transform)}
    column |= {} if rng.random() < 0.6 else {"line": False}
    return column | [{}, {"missing": "indicator"}, {"missing": high}][rng.integers(3)]


def hostile_values(rng, column):
    """Values at, beside and half way between knots, beyond them, and wild ones; most of them between."""
    knots = np.array(dplr.Bounds([column]).layout.columns[0].knot_values)
    beside = [knots, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf), (knots[1:] + knots[:-1]) / 2]
    return np.concatenate([*beside, rng.uniform(knots[0], knots[-1], 20), [knots[0] - 1, knots[-1] + 1], WILD])


def hostile_rows(seed, count=60):
    """Bounds with curves beside numbers and levels, with products of all kinds, and rows."""
    rng = np.random.default_rng(seed)
    columns = [curve(rng) for _ in range(1 + seed % 2)] + [(-1, 1)] * (seed % 3) + [{"levels": [0, 1, 2]}]
    levels = len(columns) - 1
    products = [(0, levels)] * (seed % 4 > 0) + [(1, 1)] * (seed % 6 == 2)
    plain = np.array([-1.0, 0.3, 9.0, 0.0, 1.0, 2.0])
    values = [hostile_values(rng, own) if isinstance(own, dict) and "knots" in own else plain for own in columns]
    rows = np.column_stack([rng.choice(own, count) for own in values])
    rows[:, -1] = rng.choice([0.0, 1.0, 2.0, 7.0], count)
    rows[: len(values[0]), 0] = values[0][:count]
    return dplr.Bounds(columns, products=products), rows


def cells(row, prep):
    """The second moments of a raw row beside its constant, exact, in units of 2^-40: (d + 1, d + 1) integers."""
    d = prep.geometry.d
    total = ArrayRows(row[np.newaxis], np.ones(1), prep).sum(Moments(d, True), None)
    return (total.hi.astype(object) * 2**32 + total.lo)[: d + 1, : d + 1]


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_no_row_of_curves_leaves_the_simplex_or_the_ball(seed):
    """Lemma 2 in integers: no share is negative, those of a block are at most c together, at most two are not 0."""
    bounds, rows = hostile_rows(seed)
    prep = layout_prep(bounds.layout, True, None)
    geometry, d = prep.geometry, prep.geometry.d
    c, constant = round(geometry.half_width * GRID), round(geometry.intercept * GRID)
    apart = np.ones((d, d), bool)
    for left, right in geometry.neighbours:
        apart[left, right] = False
    blocks, largest = {hat[0] for hat in geometry.hats}, 0
    for row in rows:
        found = cells(row, prep)
        entries = [int(found[j, d]) // constant for j in range(d)]
        assert sum(entry**2 for entry in entries) <= 2**40
        for first, size in zip(geometry.firsts, geometry.groups, strict=True):
            group = entries[first : first + size] if first < d else []
            assert sum(map(abs, group)) <= c
            if first in blocks:
                assert min(group) >= 0
                assert sum(map(bool, group)) <= 2
                own = np.triu(found[first : first + size, first : first + size].astype(float), 1)
                assert not own[apart[first : first + size, first : first + size]].any()
                largest = max(largest, sum(group))
    assert largest >= c - 1


@pytest.mark.parametrize("path", cpu_paths())
@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_weighted_rows_lie_in_the_weighted_simplex_exactly(seed, path, monkeypatch):
    """Rows of the loss are not rounded to the grid: with residual -1 the gradient at 0 shows a row itself."""
    monkeypatch.setenv("DPLR_ISA", path)
    bounds, rows = hostile_rows(seed)
    prep = layout_prep(bounds.layout, True, None, (-1.0, 1.0))
    rng, sizes = np.random.default_rng(seed), prep.geometry.groups
    for weights in (np.ones(len(sizes)), rng.uniform(0.01, 3, len(sizes)), np.full(len(sizes), 1 / 3)):
        weighted = prep.weighted(np.repeat(weights, sizes).tolist())
        geometry = weighted.geometry
        for row in rows:
            query = LossGradient(SQUARED, geometry.d, True, True)
            total = ArrayRows(row[np.newaxis], np.ones(1), weighted).sum(query, np.zeros(geometry.d + 1))
            seen = [-Fraction(float(v)) for v in total.gradient[: geometry.d]]
            for first, size, *_ in geometry.hats:
                assert min(seen[first : first + size]) >= 0
                assert sum(seen[first : first + size]) <= Fraction(geometry.half_widths[first])


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_sums_of_curves_have_the_same_bits_on_every_path_and_encoded_block_by_block(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    bounds = dplr.Bounds({"a": curve(rng), "b": curve(rng)}, target=(-1.0, 1.0))
    lows, highs = zip(*((column.lower, column.upper) for column in bounds.columns), strict=True)
    table = pl.DataFrame(dict(zip("ab", rng.uniform(lows, highs, (5000, 2)).T, strict=True)))
    prep, y = layout_prep(bounds.layout, True, None, (-1.0, 1.0)), rng.uniform(-1, 1, len(table))
    whole, _ = Encoder(as_table(table), bounds.layout).block()
    totals = []
    for path in cpu_paths():
        monkeypatch.setenv("DPLR_ISA", path)
        for rows, blocks in ((as_table(table), None), (as_table(table), 100)):
            totals.append(ArrayRows(rows, y, prep, block_rows=blocks).sum(Moments(prep.geometry.d, True), None))
        numbers = replace(prep, layout=None)  # the rows as they were encoded
        totals.append(ArrayRows(whole, y, numbers).sum(Moments(prep.geometry.d, True), None))
    for total in totals[1:]:
        assert_array_equal((total.hi, total.lo), (totals[0].hi, totals[0].lo))


@pytest.mark.parametrize("seed", range(LAYOUTS))
@pytest.mark.parametrize("narrower", ["narrowed", "clipped"])
def test_a_range_moves_the_line_and_no_share(seed, narrower):
    bounds, rows = hostile_rows(seed)
    prep, rng = layout_prep(bounds.layout, True, None), np.random.default_rng(seed)
    c, d, numbers = prep.geometry.half_width, prep.geometry.d, list(bounds.layout.numbers)
    shares = {first + k for first, size, _ in prep.geometry.hats for k in range(size)}
    assert not shares & {*numbers, *bounds.layout.quantities, *prep.geometry.numbers}
    half_widths, middles = np.full(d, c), np.zeros(d)
    half_widths[numbers] = c * rng.uniform(0.05, 1, len(numbers))
    middles[numbers] = (c - half_widths[numbers]) * rng.uniform(-1, 1, len(numbers))
    moved = getattr(prep, narrower)(middles, half_widths)
    hats = sorted(shares)
    for before, after in zip(*((each.shift, each.scale, each.low, each.high) for each in (prep, moved)), strict=True):
        assert_array_equal(before[hats], after[hats])
    for row in rows:
        units = np.diag(cells(row, moved))[:d]
        assert sum(map(int, units)) <= 2**40
        assert all(math.isqrt(int(unit)) <= round(c * GRID) for unit in units)


@pytest.mark.parametrize("seed", range(LAYOUTS))
def test_shares_of_a_record_have_the_same_bits_beside_any_others(seed):
    """In another order, alone, and in a column that holds objects."""
    bounds, rows = hostile_rows(seed)
    names = [f"c{j}" for j in range(rows.shape[1])]
    known, products = dict(zip(names, bounds.to_dict()["features"], strict=True)), bounds.to_dict().get("products", [])
    layout = dplr.Bounds(known, products=[[names[j] for j in pair] for pair in products]).layout
    frame = pl.DataFrame(rows, schema=names)
    encoded = Encoder(as_table(frame), layout).block()[0]
    order = np.random.default_rng(seed).permutation(len(rows))
    assert_array_equal(Encoder(as_table(frame[order]), layout).block()[0], encoded[order])
    assert_array_equal(Encoder(as_table(frame.to_pandas().astype(object)), layout).block()[0], encoded)
    alone = [Encoder(as_table(frame[k : k + 1]), layout).block()[0] for k in range(len(rows))]
    assert_array_equal(np.concatenate(alone), encoded)


def test_the_test_vectors_of_the_proof():
    text = (pathlib.Path(dplr.__file__).parent / "bounds" / "layout.md").read_text()
    table = re.findall(r"^\| (\S+) \| ([yz?]) \| ([-\d, ;]+) \|$", text, re.MULTILINE)
    assert len(table) == 5
    bounds = dplr.Bounds(
        [{"lower": 0, "upper": 8, "knots": [2, 4], "missing": "indicator"}, {"levels": [0, 1]}], products=[(0, 1)]
    )
    prep = layout_prep(bounds.layout, True, None)
    assert f"c = {prep.geometry.half_width * GRID:.0f}, and" in text
    for s, level, want in table:
        row = np.array([math.nan if s == "missing" else float(s), float("yz?".index(level))])
        entries = [int(entry) // round(GRID / 2) for entry in cells(row, prep)[:-1, -1]]
        assert entries == [int(entry) for entry in re.split("[,;]", want)]


IN_SIMPLEX = "tests/rows/test_curves.py::test_no_row_of_curves_leaves_the_simplex_or_the_ball"
SCALING, ENCODER = "bounds/scaling.py", "rows/tables/encoder.py"
BROKEN = {
    "shares are scaled to c": (
        [(SCALING, "ends = {True: units, False: units - 1}", "ends = {True: units, False: units}")], IN_SIMPLEX,
        r"assert sum\(map\(abs, group\)\) <= c",
    ),
    "shares of two knots are no partition of one": (
        [(ENCODER, "    return marks[:, 0]",
          "    if isinstance(column, Curve):\n        here = first + column.line\n"
          "        part = matrix[:, here : here + len(column.places)]\n"
          "        part[:, :-1] += part[:, 1:] / 2\n    return marks[:, 0]")], IN_SIMPLEX,
        r"assert sum\(map\(abs, group\)\) <= c",
    ),
    "knots are those of the data": (
        [(ENCODER, "    knots = np.array(column.places)",
          "    seen, places = np.empty(len(native.values)), column.places\n"
          "    native.values.write_numbers(0, None, seen)\n"
          "    knots = np.array([*places[:-1], max((places[-2] + places[-1]) / 2, np.nanmax(seen))])")],
        "tests/rows/test_curves.py::test_shares_of_a_record_have_the_same_bits_beside_any_others", "AssertionError",
    ),
    "shares have ranges": (
        [("problem/geometry.py", "spans = (*self.blocks, *self.hats)", "spans = self.blocks")],
        "tests/rows/test_curves.py::test_a_range_moves_the_line_and_no_share", "assert not shares",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_the_lines_to_be_broken_are_those_of_the_package(name):
    assert_breakable(BROKEN[name][0])


@pytest.mark.thorough
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_copy_is_seen(tmp_path, name):
    assert_red(tmp_path, *BROKEN[name])
