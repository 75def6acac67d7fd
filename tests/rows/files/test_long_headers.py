"""A message about a missing column stays short, however long the names in a damaged header are."""

import pytest

from dplr.rows.files.part import check_columns


def test_names_of_a_long_header_are_cut():
    words = r"`rows\.csv` must have a column for work; its header has age, www.*…"
    with pytest.raises(ValueError, match=words) as error:
        check_columns("rows.csv", ["age", "w" * 10_000], ["age", "work"])
    assert len(str(error.value)) < 200


def test_of_many_names_the_first_are_there():
    with pytest.raises(ValueError, match=r"its header has x0, .*x11, …\.") as error:
        check_columns("rows.csv", [f"x{place}" for place in range(1000)], ["work"])
    assert "x12" not in str(error.value)
