"""Products with all levels of a column: no number of rows tells their coefficients apart, and a reference does."""

import pytest

import dplr


def declared(target=(0, 40), **reference):
    columns = {"age": (18, 90), "loan": {"levels": ["no", "yes"], **reference}}
    return dplr.Bounds(columns, products=[("age", "loan")], target=target)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_the_aim_of_coefficients_refuses_them_before_it_spends_and_names_the_remedy(loans, model):
    frame, target = loans
    y = target if model == "linear" else target > 15
    bounds = declared() if model == "linear" else declared(target=None)
    with pytest.raises(ValueError, match=r"products of loan without a reference.*declare reference="):
        dplr.fit(frame, y, eps=50.0, model=model, bounds=bounds, aim="coefficients")


def test_with_a_reference_every_coefficient_has_an_interval(loans):
    frame, target = loans
    est = dplr.fit(frame, target, eps=50.0, model="linear", bounds=declared(reference="no"), aim="coefficients")
    assert all(line.bounded for line in est.summary().lines)


def test_the_table_of_moments_advises_a_reference_and_not_rows(loans):
    frame, target = loans
    advice = {}
    for name, bounds in (("full", declared()), ("reference", declared(reference="no"))):
        est = dplr.fit(frame, target, eps=0.05, model="linear", mechanism="fm", bounds=bounds)
        advice[name] = " ".join(est.summary().advice)
    assert "declare reference= for loan" in advice["full"]
    assert "more rows" not in advice["full"]
    assert "reference=" not in advice["reference"]


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ({"levels": ["no", "yes", "maybe"]}, "loan=maybe"),
        ({"levels": ["no", "yes"], "missing": "indicator"}, "loan is missing"),
    ],
)
def test_a_level_that_never_occurs_is_named_as_the_cause(loans, column, name):
    frame, target = loans
    bounds = dplr.Bounds({"age": (18, 90), "loan": column | {"reference": "no"}}, target=(0, 40))
    est = dplr.fit(frame, target, eps=10.0, model="linear", bounds=bounds, aim="coefficients")
    advice = " ".join(est.summary().advice)
    assert f"The weakest direction, {name} alone, which hardly occurs beside this noise, is" in advice
