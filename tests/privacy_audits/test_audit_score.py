"""Audits of the score release: sound on the package, red on copies in which one line was broken."""

import pytest

from patched_copy import measure_on_a_patched_copy
from score_audit import CASES, EPS, measure

# Fits of each data set, and the lower bound that a sound package reaches: less would be too much noise. The noise
# is seeded, so that what was reached is reached again. From zero p is 1/2 in all rounds, which are charged for 1.
FLOORS = {
    "score": (12_000, 0.75),
    "score, one round": (12_000, 0.75),
    "score, add_remove": (12_000, 0.75),
    "hessian, add_remove": (12_000, 0.75),
    "from zero": (2_000, 0.25),
    "huber": (8_000, 0.7),
    "huber, add_remove": (8_000, 0.7),
    "poisson": (8_000, 0.65),
    "poisson, add_remove": (8_000, 0.7),
}


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_nearly_as_much(name):
    runs, floor = FLOORS[name]
    assert floor * EPS <= measure(CASES[name], runs) <= EPS


SENSITIVITY, SPEC = "privacy/sensitivity.py", "mechanisms/score/spec.py"
NUMBERS = "privacy/sensitivity.py"
COMPOSED, QUERY = "mechanisms/composed.py", "rows/scores_at.py"
BROKEN = {
    "a replaced record counts once": (
        "score", SENSITIVITY, "    return 2 * row_norm * math.sqrt(_largest", "    return row_norm * math.sqrt(_largest"
    ),
    "the score is charged for p = 1/2 everywhere": (
        "score, add_remove", SENSITIVITY, "    return row_norm * math.sqrt(_largest_score(quadratic * row_norm))",
        "    return row_norm * math.sqrt(_largest_score(quadratic * row_norm)) / 2"
    ),
    "the Hessian has half its noise": (
        "hessian, add_remove", SPEC, '"diagonal": weight,', '"diagonal": 2 * weight,'
    ),
    "a round has no noise": (
        "score", SPEC, "noisy_blocks(cells, plan, source)\n        if",
        "noisy_blocks(cells, plan, source) if not number else "
        "{name: np.ldexp(sums.integers(-20, at).astype(np.float64), -20) for name, (sums, at, _) in cells.items()}"
        "\n        if"
    ),
    "squares have a tenth of their noise": (
        "huber, add_remove", SPEC, "meat_l2_sensitivity(problem, most)", "meat_l2_sensitivity(problem, most) / 10"
    ),
    "squares are not composed": ("huber", SPEC, "Part(squared, meat", "Part(Fraction(100), meat"),
    "a replaced record counts once, huber": (
        "huber", NUMBERS, "math.sqrt(max(4 * largest**2, largest**2 + bent**2, 2 * bent**2))", "largest"
    ),
    "a replaced count counts once": (
        "poisson", NUMBERS, "max(4 * most**2, (most + rise) ** 2 + bent, 4 * rise**2 + 2 * bent)",
        "max(most**2, rise**2 + bent)"
    ),
    "rates have no curvature": (
        "poisson, add_remove", NUMBERS, "max(most**2, (most - least) ** 2 + bent**2)", "(most / 2)"
    ),
    "rounds are not composed": (
        "score", COMPOSED, "root_above(part.times / part.share) / Fraction(mu)", "1 / Fraction(mu)"
    ),
    "rows of the Hessian are not multiplied": (
        "hessian, add_remove", QUERY, "out.seen, out.outside, multipliers)", "out.seen, out.outside, None)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(fault, tmp_path):
    name, file, line, broken = BROKEN[fault]
    (found,) = measure_on_a_patched_copy("score_audit.py", [name], 2_000, file, line, broken, tmp_path)
    assert found > EPS
