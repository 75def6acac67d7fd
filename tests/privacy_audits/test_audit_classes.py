"""Exact audits of K models whose privacy profiles compose (one_vs_rest.md, theorem 4): never above eps, and near it."""

import pytest

from classes_audit import CASES, measure
from patched_copy import measure_on_a_patched_copy

# Shares of eps that are reached. With little curvature the profile is that of Gaussian noise, and its composition is
# nearly exact; under replace-one the corners of theorem 3 are added up, and where the ridge is small nobody knows
# neighbours that reach what the curvature is charged for.
FLOORS = {
    "3 classes, added": 0.99,
    "10 classes, added": 0.99,
    "10 classes, added, small ridge": 0.8,
    "3 classes, replaced": 0.98,
    "10 classes, replaced": 0.9,
    "10 classes, soft, replaced": 0.88,
}


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_need_no_more_than_the_eps_of_all_models_and_nearly_all_of_it(name):
    assert FLOORS[name] <= measure(CASES[name]) <= 1


NOISE, PROFILES = "mechanisms/perturbation/noise.py", "privacy/profiles.py"
BROKEN = [
    ("3 classes, added", "fitting/one_vs_rest.py", "profile_eps(parts, k, delta", "profile_eps(parts, 1, delta"),
    ("10 classes, added", PROFILES, "drops[:0:-1], 2", "0 * drops[:0:-1], 2"),
    ("10 classes, added", PROFILES, "2 * drops[:1]", "0 * drops[:1]"),
    ("10 classes, added", NOISE, "_log_sum(bound(ratio), rarely)", "_log_sum(bound(ratio / 2), rarely)"),
    ("3 classes, replaced", NOISE, "gaussian_log_delta(part, 2 * t)", "gaussian_log_delta(part, t)"),
    ("10 classes, soft, replaced", NOISE, "gaussian_log_delta(part, 2 * t)", "gaussian_log_delta(part, t)"),
    ("10 classes, added, tiny ridge", NOISE, "share * e + loss((1 - share) * e)", "e"),
]


@pytest.mark.parametrize(("name", "file", "line", "broken"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(name, file, line, broken, tmp_path):
    (found,) = measure_on_a_patched_copy("classes_audit.py", [name], 0, file, line, broken, tmp_path)
    assert found > 1.1
