"""`dplr.check` counts persons and weights, finds what a fit would refuse of them, and shows no id."""

import numpy as np
import pandas as pd
import pytest

import dplr

N = 400
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.uniform(0.1, 0.9, N), "w": RNG.uniform(0, 90, N)})
FRAME["id"] = [f"Ingeborg {k // 4}" for k in range(N)]
BOUNDS, CAPPED = dplr.Bounds({"a": (0.0, 1.0)}), dplr.Bounds({"a": (0.0, 1.0)}, weight_max=100)


def test_persons_and_weights_are_counted_and_good_ones_pass():
    found = dplr.check(FRAME, bounds=CAPPED, person="id", sample_weight="w")
    assert found.passed
    assert found.units[0] == "100 persons, with 4 rows at the median and 4 at most"
    assert found.units[1].startswith("weights of ")
    assert found.units[1].endswith("% of the cap 100")
    assert found.doubts == ()
    assert "  100 persons, with 4 rows" in str(found)
    same = dplr.check(FRAME[["a"]], bounds=CAPPED, person=FRAME["id"], sample_weight=FRAME["w"])
    assert same.units == found.units
    in_bounds = dplr.Bounds({"a": (0.0, 1.0)}, person="id", weight="w", weight_max=100)
    assert dplr.check(FRAME, bounds=in_bounds).units == found.units
    assert dplr.check(FRAME, bounds=BOUNDS).units == ()


def test_columns_of_ids_and_weights_are_not_checked_as_features():
    by_position = dplr.Bounds([(0, 1)], weight_max=100)
    assert dplr.check(FRAME, bounds=by_position, person="id", sample_weight="w").passed


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"id": [None, *FRAME["id"][1:]]}, "1 of 400 rows"),
        ({"w": [np.nan, -1.0, *FRAME["w"][2:]]}, "1 missing or not a number, 1 negative"),
    ],
)
def test_what_a_fit_would_refuse_is_found_and_no_id_is_shown(change, refused):
    frame = FRAME.assign(**change)
    found = dplr.check(frame, bounds=CAPPED, person="id", sample_weight="w")
    assert refused in " ".join(found.refused)
    with pytest.raises(ValueError, match=refused):
        dplr.fit(frame, FRAME["a"] > 0.5, eps=1.0, bounds=CAPPED, person="id", sample_weight="w")
    assert "Ingeborg" not in str(found)


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        ("INGEBORG 3", "case"), ("Ingeborg 3 ", "white space"), ("INGEBORG 3 ", "how they are written"),
    ],
)  # fmt: skip
def test_ids_that_look_alike_are_counted(other, kind):
    found = dplr.check(FRAME.assign(id=[other, *FRAME["id"][1:]]), bounds=BOUNDS, person="id")
    assert f"person: 2 ids differ from another one in nothing but {kind}" in " ".join(found.doubts)
    assert "ingeborg" not in str(found).lower()


def test_caps_below_and_at_the_largest_weight_are_doubted():
    below, own = (
        dplr.check(X, bounds=dplr.Bounds({"a": (0, 1)}, weight_max=cap), sample_weight=FRAME["w"])
        for X, cap in ((FRAME, 50), (FRAME[["a"]], FRAME["w"].max()))
    )
    assert "of the weights are above the cap 50 and were clipped" in str(below)
    assert "is the largest weight in the data. A cap that was taken from the data voids the guarantee" in str(own)
    assert "For the data holder: this" not in str(own)
