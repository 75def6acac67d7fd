"""Products of columns: which there are, how they are named, and which are refused."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.bounds.scaling import layout_prep

KINDS = {
    "a": (0, 10),
    "b": {"lower": 1, "upper": 100, "transform": "log"},
    "binary": {"levels": ["f", "m"], "binary": True},
    "ordinal": {"levels": [1, 2, 3], "ordinal": True},
    "levels": {"levels": ["x", "y", "z"], "reference": "x", "missing": "indicator"},
    "bins": {"lower": 0, "upper": 9, "bins": [2.5, 5]},
}


def names(*pairs):
    layout = dplr.Bounds(KINDS, products=pairs).layout
    return list(layout.names[layout.firsts[len(KINDS)] :])


def test_names_say_which_columns_are_multiplied():
    assert names(("a", "a"), ("b", "b"), ("ordinal", "ordinal")) == ["a^2", "log(b)^2", "ordinal^2"]
    assert names(("a", "b"), ("b", "binary")) == ["a*log(b)", "log(b)*binary=m"]
    assert names(("a", "levels")) == ["a*levels=y", "a*levels=z", "a*levels is missing"]
    assert names(("bins", "a")) == ["bins in [0, 2.5)*a", "bins in [2.5, 5)*a", "bins in [5, 9]*a"]
    assert names(("levels", "bins"))[:2] == ["levels=y*bins in [0, 2.5)", "levels=y*bins in [2.5, 5)"]
    assert len(names(("levels", "bins"))) == 9


def test_products_come_after_all_columns_in_the_order_given():
    layout = dplr.Bounds(KINDS, products=[("levels", "a"), ("a", "a")]).layout
    without = dplr.Bounds(KINDS).layout
    assert layout.names[: without.width] == without.names
    assert layout.pairs[: without.width] == without.pairs
    assert layout.names[without.width :] == ("levels=y*a", "levels=z*a", "levels is missing*a", "a^2")
    assert layout.pairs[without.width :] == ((-5.0, 5.0),) * 3 + ((0.0, 25.0),)
    assert not dplr.Bounds([(0, 1)], products=[(0, 0)]).layout.plain


def test_positions_take_the_place_of_names():
    by_position = dplr.Bounds(list(KINDS.values()), products=[(0, 1), (2, 0)])
    assert by_position.layout.names[-2:] == ("column 0*log(column 1)", "column 2=m*column 0")
    assert by_position.to_dict()["products"] == [[0, 1], [2, 0]]
    for again in (
        dplr.Bounds.from_dict(by_position.to_dict()), pickle.loads(pickle.dumps(by_position)),
        eval(repr(by_position), {"Bounds": dplr.Bounds}),
    ):  # fmt: skip
        assert again == by_position
    assert by_position.for_columns(list("uvwxyz"), 6).names[-1] == "w=m*u"


def test_bounds_without_products_write_no_word_of_them():
    assert "products" not in dplr.Bounds(KINDS).to_dict()
    assert "products" not in dplr.Bounds(KINDS).to_toml()
    assert "products" not in repr(dplr.Bounds(KINDS))


@pytest.mark.parametrize(
    ("products", "error", "message"),
    [
        ([("a", "q")], ValueError, "`products` must name columns of the bounds; got 'q'"),
        ([("a", 0)], ValueError, "`products` must name columns of the bounds; got 0"),
        ([("levels", "levels")], ValueError, "must not multiply levels by themselves; .*its own square"),
        ([("bins", "bins")], ValueError, "must not multiply levels by themselves"),
        ([("binary", "binary")], ValueError, "must not square a column of two levels; .*The square is the same"),
        ([("a", "b"), ("b", "a")], ValueError, r"must list every product once; got \['b', 'a'\]"),
        ([("a", "b", "a")], ValueError, "must be a list of pairs of columns; got"),
        ([None], ValueError, "must be a list of pairs of columns; got None"),
        ({"a": "b"}, TypeError, "must be a list of pairs of columns; got"),
        ([("a", "a")] * 4097, ValueError, "must list at most 4096 pairs; got '4097 pairs'"),
        (3, TypeError, "must be a list of pairs of columns; got 3"),
    ],
)
def test_products_that_cannot_be_are_refused(products, error, message):
    with pytest.raises(error, match=message):
        dplr.Bounds(KINDS, products=products)


@pytest.mark.parametrize(
    ("products", "error", "message"),
    [
        ([(0, 2)], ValueError, "must hold positions from 0 to 1; got 2"),
        ([(0, -1)], ValueError, "must hold positions from 0 to 1; got -1"),
        ([(0, True)], TypeError, "must hold positions of columns; got True"),
        ([(0, 1.0)], TypeError, "must hold positions of columns; got 1.0"),
        ([("0", 1)], TypeError, "must hold positions of columns; got '0'"),
    ],
)
def test_positions_that_cannot_be_are_refused(products, error, message):
    with pytest.raises(error, match=message):
        dplr.Bounds([(0, 1), (0, 1)], products=products)


@pytest.mark.parametrize("upper", [1e200, 1e-200])
def test_products_beyond_the_numbers_of_a_computer_are_refused(upper):
    with pytest.raises(ValueError, match=r"`products` must have a finite range above 0.*in other units"):
        dplr.Bounds([(0, upper)], products=[(0, 0)])


def test_columns_of_products_count_and_have_names_of_their_own():
    levels = {"levels": list(range(64))}
    assert dplr.Bounds([levels, {"levels": list(range(62))}], products=[(0, 1)]).layout.width == 64 * 62 + 126
    with pytest.raises(ValueError, match="must have at most 4096 columns, one per level; got 4224"):
        dplr.Bounds([levels, levels], products=[(0, 1)])
    with pytest.raises(ValueError, match=r"a name of its own; got 'a\^2'. It is of 'a\^2' and of the product a \* a"):
        dplr.Bounds({"a": (0, 1), "a^2": (0, 1)}, products=[("a", "a")])
    long = {"levels": ["x" * 300_000 + str(k) for k in range(10)]}
    with pytest.raises(ValueError, match="`bounds` must take at most 16777216 characters in names of columns"):
        dplr.Bounds([long, levels], products=[(0, 1)])


def test_all_products_are_every_square_and_pair_that_is_not_refused():
    bounds = dplr.Bounds(KINDS, products="all")
    pairs = [tuple(pair) for pair in bounds.to_dict()["products"]]
    squares = [("a", "a"), ("b", "b"), ("ordinal", "ordinal")]
    assert sorted(pairs) == sorted([*squares, *itertools.combinations(KINDS, 2)])
    for pair in {(name, name) for name in KINDS} - set(squares):
        with pytest.raises(ValueError, match="must not"):
            dplr.Bounds(KINDS, products=[pair])
    assert bounds == dplr.Bounds(KINDS, products=pairs)
    assert bounds == dplr.Bounds.from_dict(bounds.to_dict())
    by_position = dplr.Bounds(list(KINDS.values()), products="all")
    assert [len(product.places) for product in by_position.products] == [2] * len(pairs)
    assert by_position.layout.widths == bounds.layout.widths
    assert dplr.Bounds({"levels": KINDS["levels"]}, products="all").products == ()


def test_a_file_may_ask_for_all_products(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text('products = "all"\n' + dplr.Bounds(KINDS).to_toml(), encoding="utf-8")
    assert dplr.Bounds.from_toml(path) == dplr.Bounds(KINDS, products="all")
    with pytest.raises(TypeError, match=r"must be a list of pairs of columns; got 'both'.*or \"all\""):
        dplr.Bounds(KINDS, products="both")
    with pytest.raises(ValueError, match="must list at most 4096 pairs; got '5050 pairs'"):
        dplr.Bounds([(0, 1)] * 100, products="all")


# Cubes, one-hot blocks, and both.
POLYNOMIALS = {
    "a cube": {"a": (0, 10), "b": (-3, 1), "c": (1, 2)},
    "one-hot blocks": {"u": {"levels": ["x", "y", "z"]}, "v": {"levels": [1, 2]}, "w": KINDS["bins"]},
    "both": {"a": (0, 10), "b": (-3, 1), "u": {"levels": ["x", "y"]}, "s": KINDS["binary"]},
}


@pytest.mark.parametrize("columns", POLYNOMIALS.values(), ids=POLYNOMIALS)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_norm_of_a_polynomial_of_degree_2_is_that_of_its_corners(columns, intercept):
    """Brute force: the longest scaled row over all corners, levels and bins has exactly the norm that the layout says.

    A product of numbers is 0 in the middle and extreme in a corner, so no row is longer than some corner.
    """
    bounds = dplr.Bounds(columns, products="all")
    prep = layout_prep(bounds.layout, intercept, (0.0, 1.0))
    values = [column.get("levels", [0, 3, 9]) if isinstance(column, dict) else column for column in columns.values()]
    rows = pd.DataFrame(list(itertools.product(*values)), columns=list(columns))
    encoded, d = dplr.preprocessing.BoundsEncoder(bounds).transform(rows), bounds.layout.width
    scaled = (encoded - prep.shift[:d]) * prep.scale[:d] / 2**20
    assert (np.abs(scaled) <= prep.geometry.half_width * (1 + 1e-15)).all()
    groups = sum(size > 0 for size in prep.geometry.groups) - intercept
    longest = np.square(scaled).sum(axis=1).max()
    assert groups * prep.geometry.half_width**2 <= 1 < groups * (prep.geometry.half_width + 2.0**-20) ** 2
    assert longest <= groups * prep.geometry.half_width**2 * (1 + 1e-14)
    if intercept:
        assert longest == pytest.approx(groups * prep.geometry.half_width**2, rel=1e-14)
