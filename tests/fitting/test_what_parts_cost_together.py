"""A statement of several releases says no less than they cost together, by a composition that is not the package's."""

import itertools
import math
from dataclasses import replace

import mpmath
import pytest

import dplr
from declared_units import declared
from dplr.fitting.search import plan_partition
from dplr.privacy.guarantees import Approx, Gaussian, Pure
from planned_facts import facts_of
from specs import spec_with

MISSED = 2.0**-64  # of a model by objective perturbation
UNITS = {
    "rows": {},
    "persons": {"person": "id"},
    "some rows of persons": {"person": "id", "rows_per_person": 3},
    "weights": {"weight_max": 5},
}
LABELS, NUMBERS = ["fm", "objective", "output", "ngd", "score", "auto"], ["fm", "objective", "output", "ngd", "auto"]
LACKS = {0.0: ("ngd", "score"), 1e-25: ("objective",)}  # what a delta is too small for
FEATURES = {f"x{j}": (-1, 1) for j in range(3)}


def number(value):
    """The decimal that is printed."""
    return mpmath.mpf(repr(float(value)))


def delta_of_pure(eps, count, whole):
    """What `count` answers by randomised response, the worst of eps-DP, exceed e^whole by (Kairouz, Oh, Viswanath)."""
    p = 1 / (1 + mpmath.exp(-eps))
    return sum(
        math.comb(count, flips)
        * max(0, p ** (count - flips) * (1 - p) ** flips - mpmath.exp(whole) * p**flips * (1 - p) ** (count - flips))
        for flips in range(count + 1)
    )


def cost_at(eps, part, count):
    """Delta of that many releases with this statement at eps, and exactly as small where nothing more is known."""
    if isinstance(part.guarantee, Gaussian):
        mu = math.sqrt(count) * part.guarantee.mu
        return mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
    kept = (1 - number(part.delta)) ** count
    return 1 - kept * (1 - delta_of_pure(number(part.eps), count, eps))


def facts_for(mechanism, unit, classes, delta, **options):
    target = (0, 10) if classes == 0 else tuple(range(classes))
    bounds = dplr.Bounds(FEATURES, target=target)
    model = "linear" if classes == 0 else "logistic"
    facts = facts_of(
        model=model, mechanism=mechanism, delta=delta, n_rows=20_000, **declared({"bounds": bounds, **unit})
    )
    return replace(facts, **options)


def planned_of(mechanism, unit, classes, delta, eps=1.0, **options):
    return facts_for(mechanism, unit, classes, delta, **options).planned(eps)


def parts_of(planned, classes):
    """The statement of one release, and how many there are of it."""
    joint = classes < 3 or planned.mechanism.joint
    return planned.model.statement, 1 if joint else classes


@pytest.mark.grid(2)
@pytest.mark.parametrize("delta", [0.0, 1e-25, 1e-18, 1e-10, 1e-6])
@pytest.mark.parametrize("classes", [0, 2, 3, 11])
@pytest.mark.parametrize("unit", UNITS)
def test_no_statement_says_less_than_its_parts_cost_together_or_more_than_was_asked_for(unit, classes, delta):
    with mpmath.workdps(60):
        for mechanism, eps in itertools.product(NUMBERS if classes == 0 else LABELS, (0.1, 5.0)):
            if mechanism in LACKS.get(delta, ()):
                continue
            planned = planned_of(mechanism, UNITS[unit], classes, delta, eps)
            part, count = parts_of(planned, classes)
            whole = planned.statement
            assert whole.delta <= delta or delta == 0, mechanism
            assert whole.eps == eps, mechanism
            if delta == 0:
                assert whole.delta == (count * MISSED if whole.mechanism == "objective" else 0.0), mechanism
            if whole.guarantee == Approx(eps, whole.delta) and "privacy profiles" in whole.assumptions[-1]:
                continue  # test_class_profiles.py
            left = number(whole.eps) - (0 if planned.first is None else number(planned.first.eps))
            least = cost_at(left, part, count)
            rounded = number(whole.delta) * (1 + mpmath.mpf(2) ** -52)  # decimals and floats differ by as much
            assert least <= rounded + mpmath.mpf(10) ** -50, (mechanism, eps, float(least), whole.delta)
            if isinstance(whole.guarantee, Gaussian):
                assert whole.guarantee.mu >= math.sqrt(count) * part.guarantee.mu, mechanism
            else:
                said = (whole.guarantee.eps, getattr(whole.guarantee, "delta", 0.0))
                assert said == (whole.eps, whole.delta), mechanism


@pytest.mark.parametrize("classes", [2, 3])
def test_a_delta_below_what_objective_perturbation_needs_is_refused_for_persons_as_for_rows(classes):
    for unit, delta in itertools.product(UNITS.values(), (1e-25, MISSED)):
        with pytest.raises(ValueError, match=r"`delta` must be 0 or above 2\^-64"):
            planned_of("objective", unit, classes, delta)


def test_models_of_persons_state_what_their_solver_needs_and_not_the_delta_that_was_not_used():
    for classes, count in ((2, 1), (3, 3), (11, 11)):
        planned = planned_of(spec_with("objective", "off"), UNITS["persons"], classes, 1e-6)
        composed = planned.statement.assumptions[-1] if classes > 2 else "eps and delta add up"
        if "add up" in composed:
            assert planned.statement.delta == count * MISSED
            assert planned.statement.guarantee == Approx(1.0, count * MISSED)
        else:
            assert "zCDP" in composed
            assert planned.statement.delta == 1e-6


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("unit", ["rows", "persons"])
def test_ranges_and_the_models_in_them_cost_no_more_together_than_is_stated(unit, classes, delta):
    with mpmath.workdps(60):
        for mechanism in ("fm", "objective", "output", "ngd"):
            if mechanism == "ngd" and delta == 0:
                continue
            planned = planned_of(spec_with(mechanism, "on"), UNITS[unit], classes, delta)
            part, count = parts_of(planned, classes)
            whole, ranges = planned.statement, planned.first
            spent = [block.sensitivity / (block.scale * block.weight) for block in ranges.released.values()]
            assert max(spent) <= ranges.eps * (1 + 2**-40)  # each block by itself, at the joint sensitivity
            assert number(ranges.eps) + number(ranges.remainder) <= number(whole.eps) == 1
            if "privacy profiles" not in str(whole.assumptions):
                rounded = number(whole.delta) * (1 + mpmath.mpf(2) ** -52)
                assert cost_at(number(ranges.remainder), part, count) <= rounded + mpmath.mpf(10) ** -50, mechanism
            said = Pure(1.0) if whole.delta == 0 else Approx(1.0, whole.delta)
            assert whole.guarantee == said, mechanism


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_search_states_no_less_than_its_parts_may_lose_and_no_delta_that_none_uses(delta):
    for mechanism in ("fm", "objective", "output"):
        facts = [facts_for(mechanism, {}, 2, delta), facts_for(mechanism, {}, 3, delta)]
        plan = plan_partition(facts, 1.0, False)
        assert plan.statement.delta == max(each.statement.delta for each in plan.planned)
        assert plan.statement.delta <= delta or delta == 0
