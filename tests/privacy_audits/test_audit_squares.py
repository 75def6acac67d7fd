"""Audits of the squares of the score: sound on the package, red on copies in which one line was broken."""

import pytest

from dplr.mechanisms.perturbation.hessian import SQUARES_SHARE
from patched_copy import measure_on_a_patched_copy
from squares_audit import EPS, RECORDS, measure

ALLOWED = SQUARES_SHARE * EPS


@pytest.mark.parametrize("name", RECORDS)
def test_neighbours_are_told_apart_by_at_most_the_share_of_eps_and_by_nearly_as_much(name):
    assert 0.75 * ALLOWED <= measure(name, 6_000) <= ALLOWED


HESSIAN = "mechanisms/perturbation/hessian.py"
DRAWING = "mechanisms/drawing.py"
BROKEN = {
    "a replaced record counts once": (
        "replace_one", HESSIAN, "if finite else eps, float(problem.neighbouring.records_changed)",
        "if finite else eps, 1.0"
    ),
    "the squares have half their noise": (
        "add_remove", DRAWING, "value + draw(block.units,", "value + draw(block.units // 2,"
    ),
    "the squares get the eps of the Hessian too": (
        "add_remove", HESSIAN, "rest_of(rest, of_hessian) if finite", "rest if finite"
    ),
    "the sum is in finer units than its noise": (
        "add_remove", DRAWING, "exponent = math.frexp(block.grid)[1] - 1", "exponent = math.frexp(block.grid)[1] - 3"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(fault, tmp_path):
    name, file, line, broken = BROKEN[fault]
    (found,) = measure_on_a_patched_copy("squares_audit.py", [name], 2_000, file, line, broken, tmp_path)
    assert found > ALLOWED
