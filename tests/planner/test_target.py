"""A target has the smallest eps, or the fewest rows, that a simulation finds; and it says how sure that is."""

import math

import pytest

import dplr
from dplr.planner.target import Probe, _from

BOUNDS = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=("no", "yes"))
FEW = dplr.planner.Assumptions(tables=2, fits=2, rows=3000)


def answer(**options):
    return dplr.plan_target(bounds=BOUNDS, **{"mechanism": "objective", "assume": FEW} | options)


def error_at(**options):
    (point,) = dplr.plan_curve(bounds=BOUNDS, mechanism="objective", delta=[0.0], assume=FEW, **options).points
    return point


def test_the_smallest_eps_for_an_error_meets_it_where_a_curve_is_simulated_too():
    found = answer(n_rows=1000, error=0.32)
    point = error_at(n_rows=[1000], eps=[found.value])
    assert found.quantity == "eps"
    assert found.expected <= 0.32
    assert abs(found.expected - point.error) < 0.05  # the same tables, and other noise
    assert found.low < found.value <= found.high
    assert error_at(n_rows=[1000], eps=[found.value / 4]).error > 0.32


def test_a_harder_target_needs_more():
    easy, hard = (answer(n_rows=1000, error=error).value for error in (0.4, 0.3))
    assert easy < hard
    few, many = (answer(eps=0.2, error=error).value for error in (0.4, 0.3))
    assert few < many


def test_the_fewest_rows_for_an_error_meet_it():
    found = answer(eps=0.5, error=0.32)
    assert found.quantity == "n_rows"
    assert found.value == int(found.value)
    assert error_at(n_rows=[int(found.value)], eps=[0.5]).error == pytest.approx(found.expected)


def test_a_delta_that_is_large_for_the_rows_that_were_found_is_refused():
    options = {"eps": 0.5, "delta": 0.02, "error": 0.3}
    with pytest.raises(ValueError, match="`delta` must be below 1/n"):
        answer(**options)


def test_a_width_is_in_the_units_of_the_column():
    """Bounds in other units make another coefficient of the same model: a width moves with them."""
    months = dplr.Bounds({"age": (18 * 12, 99 * 12), "hours": (0, 80)}, target=("no", "yes"))
    options = {"n_rows": 2000, "mechanism": "objective", "assume": FEW}
    in_years = dplr.plan_target(bounds=BOUNDS, width={"age": 0.012}, **options)
    in_months = dplr.plan_target(bounds=months, width={"age": 0.001}, **options)
    assert in_years.value == in_months.value
    assert in_years.value > dplr.plan_target(bounds=BOUNDS, width={"age": 0.1}, **options).value
    assert "age 0.012" in str(in_years)


def test_the_root_mean_square_of_widths_is_that_of_a_curve():
    found = answer(n_rows=2000, width=1.0)
    curve = dplr.plan_curve(
        bounds=BOUNDS, mechanism="objective", delta=[0.0], assume=FEW, n_rows=[2000], eps=[found.value]
    )
    assert found.expected == pytest.approx(curve.typical(curve.points[0]), rel=0.2)  # means of roots, root of means


def test_what_no_eps_reaches_is_refused_with_what_would_help():
    with pytest.raises(ValueError, match=r"eps of up to 10.*Without privacy it is 0\.2.*assume more signal"):
        answer(n_rows=1000, error=0.1)
    with pytest.raises(ValueError, match=r"eps of up to 10.*give more rows"):
        answer(n_rows=30, error=0.27, mechanism="output")
    with pytest.raises(ValueError, match=r"with up to 3000 rows.*give more eps"):
        answer(eps=0.001, error=0.3)
    with pytest.raises(ValueError, match=r"`width` must be reached.*Ask for a wider one"):
        answer(n_rows=300, width={"age": 1e-6})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"n_rows": 100, "error": 0.2, "width": 0.1},
            "`error` or width or interval must be given",
        ),
        ({"n_rows": 100}, "`error` or width or interval must be given"),
        ({"n_rows": 100, "eps": 1.0, "error": 0.2}, "`n_rows` or eps must be given with a target, and not both"),
        ({"error": 0.2}, "`n_rows` or eps must be given with a target"),
        ({"n_rows": 100, "error": -1}, "`error` must be positive"),
        ({"n_rows": 100, "width": {"agee": 1}}, "`width` must name coefficients"),
        ({"n_rows": 100, "width": {}}, "`width` must name coefficients"),
        ({"n_rows": 100, "width": {"age": 0}}, "`width` must be positive"),
        ({"n_rows": 100, "width": 1.0, "interval": {"age": 1.0}}, r"only one of them; got \['width', 'interval'\]"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_name(options, said):
    with pytest.raises(ValueError, match=said):
        answer(**options)


def test_a_target_that_is_met_by_chance_and_missed_further_on_does_not_count():
    probes = [Probe(value, mean, 0.0) for value, mean in ((1, 0.3), (2, 0.1), (3, 0.3), (4, 0.1), (5, 0.1))]
    assert _from(probes, lambda probe: probe.mean <= 0.2) == 3
    assert _from(probes, lambda probe: probe.mean <= 0.4) == 0
    assert _from(probes, lambda probe: probe.mean <= 0.01) is None


def test_an_answer_says_how_sure_it_is_and_what_was_assumed():
    text = str(answer(n_rows=1000, error=0.45))
    assert "Smallest eps" in text
    assert "two standard errors" in text
    assert "Assumed: columns are independent." in text
    large = answer(n_rows=50_000, error=0.45)
    assert "3000 rows stand for 50000" in str(large)
    assert math.isfinite(large.high)
