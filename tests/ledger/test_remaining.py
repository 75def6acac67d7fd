"""What a ledger says is left, is left, and no more: for every kind of release, and in every refusal."""

import inspect
import math
import re

import hypothesis
import pytest
from hypothesis import strategies

import dplr
from dplr.ledger.budget import BudgetExceeded
from dplr.ledger.handle import Ledger
from dplr.privacy.composition import largest_rho, pure_rho
from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Gaussian, Neighbouring
from dplr.privacy.rules import Cost, Gdp, added, probe, rule_for
from dplr.privacy.statement import PrivacyStatement, Release

REPLACE = Neighbouring.REPLACE_ONE


def cost(kind, eps, delta):
    return probe(kind, eps, 0.0 if kind == "pure" else delta)


def statement(kind, eps, delta=0.0, draws=1):
    """A statement of that kind, the loudest that (eps, delta) allow."""
    guarantee = cost(kind, eps, delta).guarantee
    law = "discrete Gaussian" if kind == "gaussian" else "discrete Laplace"
    released = {"sums": Release((draws,), 1.0, law, 1.0, 1.0)}
    return PrivacyStatement("fm", eps, delta, guarantee, REPLACE, released, "", (), "integer", False, "", version="0")


def spent_of(rule, wanted):
    """As many of the wanted releases as the rule takes, one after another."""
    costs = {}
    for one in wanted:
        more = {one: 1}
        if rule.fits(added(costs, more)):
            costs = added(costs, more)
    return costs


amounts = strategies.floats(-6, 1.5).map(lambda power: 10.0**power)
deltas = strategies.floats(-15, -2).map(lambda power: 10.0**power)
releases = strategies.lists(
    strategies.builds(cost, strategies.sampled_from(["pure", "gaussian", "approx"]), amounts, deltas), max_size=4
)


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.given(strategies.sampled_from(["basic", "zcdp", "gdp"]), amounts, deltas, releases, deltas)
def test_what_remains_of_a_budget_fits_to_the_last_float(composition, eps, delta, wanted, own):
    try:
        rule = rule_for(composition, eps, delta, REPLACE)
    except ValueError:
        hypothesis.reject()
    costs = spent_of(rule, wanted)

    def fits(kind, one, its):
        return rule.fits(added(costs, {cost(kind, one, its): 1}))

    left, lost = rule.remaining(costs)
    if left >= 1e-9:
        assert fits("approx", left, lost)
        assert not fits("approx", math.nextafter(left, math.inf), lost)
        assert not fits("approx", left, math.nextafter(lost, 1))
    pure, none = rule.remaining(costs, "pure")
    assert none == 0
    if pure >= 1e-9:
        assert fits("pure", pure, 0.0)
    assert not fits("pure", max(math.nextafter(pure, math.inf), 1e-9), 0.0)
    at, same = rule.remaining(costs, "approx", own)
    assert (at, same) == (left if own <= lost else 0.0, own)
    noisy, same = rule.remaining(costs, "gaussian", own)
    assert same == own
    if noisy >= 1e-9:
        assert fits("gaussian", noisy, own)
    assert not fits("gaussian", max(noisy * (1 + 1e-6), 1e-9), own)


@pytest.mark.parametrize("wanted", [[], [("gaussian", 1.0, 1e-6)], [("pure", 0.4, 0.0), ("approx", 0.2, 1e-8)]])
def test_what_remains_under_loss_distributions_fits_to_the_resolution_of_their_grid(wanted):
    rule = rule_for("pld", 2.0, 1e-5, REPLACE)
    costs = spent_of(rule, [cost(*one) for one in wanted])
    for kind, delta in (("pure", None), ("gaussian", 1e-6), ("approx", 1e-7)):
        left, own = rule.remaining(costs, kind, delta)
        assert rule.fits(added(costs, {cost(kind, left, own): 1}))
        assert not rule.fits(added(costs, {cost(kind, left + 4e-4, own): 1}))


TERMS = {
    "basic": (1.0, 1e-5), "zcdp": (3.0, 1e-5), "gdp": (3.0, 1e-5), "pld": (1.0, 1e-5),
}  # fmt: skip


def spend(ledger, *released):
    for one in released:
        ledger.reserve(statement(*one)).commit()


@pytest.mark.parametrize("composition", TERMS)
def test_a_ledger_takes_what_it_says_remains_and_refuses_the_next_float(tmp_path, composition):
    eps, delta = TERMS[composition]
    resolution = 2e-4 * eps if composition == "pld" else 0.0
    for number, (kind, own) in enumerate([("approx", None), ("pure", None), ("gaussian", 1e-6)]):
        ledger = Ledger(tmp_path / str(number), eps, delta, composition)
        spend(ledger, ("pure", 0.1), ("gaussian", 0.3, 1e-6))
        left = ledger.remaining(kind, own)
        more = left[0] * (1 + 1e-6) + resolution if kind == "gaussian" or resolution else math.nextafter(left[0], 9)
        with pytest.raises(BudgetExceeded):
            ledger.reserve(statement(kind, more, left[1]))
        ledger.reserve(statement(kind, *left)).commit()


def test_a_gaussian_ledger_that_has_given_all_its_numbers_has_no_room_for_noise():
    budget = Gdp(3.0, 1e-5)
    costs = {Cost(1e-6, 1e-9, Gaussian(1e-6), 10**7): 1}
    assert budget.remaining(costs, "gaussian", 1e-6) == (0.0, 1e-6)
    assert budget.remaining(costs, "pure")[0] > 0.5
    assert not budget.fits(added(costs, {cost("gaussian", 1e-9, 1e-6): 1}))


def test_less_than_any_release_has_is_nothing(tmp_path):
    ledger = Ledger(tmp_path / "budget", eps=1.0, delta=1e-299)
    spend(ledger, ("pure", 0.9999999995))
    assert ledger.remaining() == (0.0, 1e-299)
    with pytest.raises(ValueError, match="`eps` must be at least 1e-09"):
        ledger.reserve(statement("pure", 5e-10))
    other = Ledger(tmp_path / "other", eps=1.0, delta=1e-299)
    spend(other, ("approx", 0.5, 9.5e-300))
    assert other.remaining() == (0.5, 0.0)


def test_a_kind_and_its_delta_are_checked(tmp_path):
    ledger = Ledger(tmp_path / "budget", eps=1.0)
    for options, message in (
        ({"kind": "laplace"}, "`kind` must be one of 'pure', 'gaussian', 'approx'"),
        ({"kind": "gaussian"}, "`delta` must be given, and positive, for a Gaussian release; got None"),
        ({"kind": "gaussian", "delta": 0}, "`delta` must be given, and positive"),
        ({"kind": "pure", "delta": 1e-6}, "`delta` must be 0, or left out, for a pure release"),
        ({"delta": 2.0}, "`delta` must be in"),
    ):
        with pytest.raises(ValueError, match=message):
            ledger.remaining(**options)


# What users saw


def ngd(eps=1.0, delta=1e-6):
    return dplr.plan(n_rows=5000, n_features=3, eps=eps, delta=delta, mechanism="ngd")


def test_many_gaussian_fits_are_left_where_one_approximate_release_has_little(tmp_path):
    """Of (3, 1e-5) by zCDP one release of (1, 1e-6) took most, so it seemed, and six more of them were taken."""
    ledger = Ledger(tmp_path / "budget", 3.0, 1e-5, "zcdp")
    ledger.reserve(ngd().statement).commit()
    assert ledger.remaining()[0] < 0.7
    price = ngd().cost(ledger)
    assert (price.kind, price.before) == ("gaussian", ledger.remaining("gaussian", delta=1e-6))
    assert price.before[0] > 2
    assert re.search(r"remaining for Gaussian noise before \(eps = 2\.\d+, delta = 1e-06\), after", str(price))
    taken = 0
    while ngd().cost(ledger).fits:
        assert ledger.remaining("gaussian", delta=1e-6)[0] >= 1
        ledger.reserve(ngd().statement).commit()
        taken += 1
    assert taken >= 6
    assert ledger.remaining("gaussian", delta=1e-6)[0] < 1 + 1e-6
    left = ledger.remaining("gaussian", delta=1e-6)[0]
    assert not ngd(left * (1 + 1e-6)).cost(ledger).fits
    ledger.reserve(ngd(left).statement).commit()


def test_a_refusal_does_not_say_that_as_much_as_was_asked_for_is_left(tmp_path):
    """After two pure releases zCDP has no rho left, and eps to add: of which a Gaussian release takes none."""
    ledger = Ledger(tmp_path / "budget", 3.0, 1e-5, "zcdp")
    spend(ledger, ("pure", 1.0), ("pure", 1.0))
    assert ledger.remaining() == (1.0, 5e-6)
    assert ledger.remaining("gaussian", delta=1e-6) == (0.0, 1e-6)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(ngd().statement)
    said = str(caught.value)
    assert re.search(r"has too little rho \(0\.0280\d* is needed, 0 is left\)\. No row was read", said), said
    assert "A release without Gaussian noise fits up to (eps = 1, delta = 5e-06)." in said
    spend(ledger, ("approx", 1.0, 5e-6))


# Refusals


def needed_and_left(said, unit):
    found = re.search(rf"too little {re.escape(unit)} \(([-\d.e+inf]+) is needed, ([-\d.e+]+) is left\)", said)
    assert found, said
    return float(found[1]), float(found[2])


def refused(ledger, *statements):
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve(*statements)
    price = ledger.price(*statements)
    assert not price.fits
    assert price.obstacle in f"It {str(caught.value).partition(' composition=')[2].partition(', ')[2]}".replace(
        "No row was read and nothing was spent. ", ""
    )
    return str(caught.value)


def test_a_refusal_names_the_sum_that_has_no_room_and_by_how_much(tmp_path):
    basic = Ledger(tmp_path / "basic", 1.0, 1e-5)
    spend(basic, ("approx", 0.6, 6e-6))
    assert needed_and_left(refused(basic, statement("approx", 0.5, 1e-6)), "eps") == (0.5, 0.4)
    assert needed_and_left(refused(basic, statement("approx", 0.1, 5e-6)), "delta") == (5e-6, 4e-6)
    said = refused(basic, statement("approx", 0.5, 5e-6))
    assert needed_and_left(said, "eps") == (0.5, 0.4)
    assert needed_and_left(said, "delta") == (5e-6, 4e-6)

    zcdp = Ledger(tmp_path / "zcdp", 1.0, 1e-5, "zcdp")
    spend(zcdp, ("pure", 0.1))
    rho = largest_rho(1.0, 5e-6) - pure_rho(0.1)
    needed, left = needed_and_left(refused(zcdp, statement("gaussian", 1.5, 1e-6)), "rho")
    assert needed == pytest.approx(gaussian_mu(1.5, 1e-6) ** 2 / 2, rel=1e-4)
    assert left == pytest.approx(rho, rel=1e-4)
    assert left <= rho
    said = refused(zcdp, statement("pure", 0.95))
    assert needed_and_left(said, "eps to be added instead") == (0.95, 0.9)
    assert needed_and_left(said, "rho")[0] == pytest.approx(pure_rho(0.95), rel=1e-4)
    said = refused(zcdp, statement("approx", 0.01, 6e-6))
    assert needed_and_left(said, "delta for releases that state one") == (6e-6, 5e-6)
    assert "With a delta of its own a release fits up to (eps = 0.9, delta = 5e-06)." in said

    gdp = Ledger(tmp_path / "gdp", 1.0, 1e-5, "gdp")
    needed, _ = needed_and_left(refused(gdp, statement("gaussian", 1.5, 1e-6)), "mu^2")
    assert needed == pytest.approx(gaussian_mu(1.5, 1e-6) ** 2, rel=1e-4)
    said = refused(gdp, statement("gaussian", 0.01, 1e-6, draws=10**7 + 1))
    assert "too little numbers with Gaussian noise" not in said
    assert "too few numbers with Gaussian noise (10000001 are needed, 10000000 are left)" in said

    pld = Ledger(tmp_path / "pld", 1.0, 1e-5, "pld")
    spend(pld, ("pure", 0.6))
    needed, left = needed_and_left(refused(pld, statement("pure", 0.5)), "eps by loss distributions")
    assert (needed, left) == (pytest.approx(0.5, rel=1e-3), pytest.approx(0.4, rel=1e-3))
    assert needed_and_left(refused(pld, statement("pure", 5.0)), "eps by loss distributions")[0] == math.inf


@pytest.mark.parametrize("composition", TERMS)
@pytest.mark.parametrize("kind", ["pure", "gaussian", "approx"])
def test_what_a_refusal_offers_instead_is_taken(tmp_path, composition, kind):
    ledger = Ledger(tmp_path / "budget", *TERMS[composition], composition)
    spend(ledger, ("gaussian", 0.3, 1e-6))
    said = refused(ledger, statement(kind, 9.0, 0.0 if kind == "pure" else 1e-9))
    found = re.search(r"fits up to eps = ([\d.e-]+)\.", said)
    assert found, said
    ledger.reserve(statement(kind, float(found[1]), 0.0 if kind == "pure" else 1e-9)).commit()


def test_a_refusal_of_many_says_how_many_would_fit(tmp_path):
    ledger = Ledger(tmp_path / "budget", 1.0, 1e-5, "zcdp")
    many = [statement("gaussian", 0.2, 1e-6)] * 100
    said = refused(ledger, *many)
    count = int(re.search(r"Of these releases (\d+) would fit\.", said)[1])
    assert 1 < count < 100
    assert not ledger.price(*many[: count + 1]).fits
    assert f"Of these releases {count} would fit." in ledger.price(many[0], fits=100).obstacle
    ledger.reserve(*many[:count]).commit()


# Prices


@pytest.mark.thorough
@pytest.mark.parametrize("composition", TERMS)
def test_the_price_of_many_fits_is_that_of_so_many_statements(tmp_path, composition):
    ledger = Ledger(tmp_path / "budget", *TERMS[composition], composition)
    plan = ngd(0.2)
    many = plan.cost(ledger, fits=3)
    assert many == ledger.price(*[plan.statement] * 3)
    assert (many.releases, many.fits) == (3, True)
    assert str(many).startswith("3 releases cost eps = ")
    ledger.reserve(*[plan.statement] * 3).commit()
    assert ledger.remaining(many.kind, 1e-6 if many.kind == "gaussian" else None) == many.after


def test_the_price_of_more_fits_than_there_can_be_is_told_at_once(tmp_path):
    ledger = Ledger(tmp_path / "budget", eps=1.0)
    plan = dplr.plan(n_rows=100, n_features=2, eps=0.1, mechanism="fm")
    assert plan.cost(ledger, fits=10).fits
    price = plan.cost(ledger, fits=10**15)
    assert not price.fits
    assert (price.eps, price.releases) == (10**14, 10**15)
    assert price.obstacle == "It has too little eps (1e+14 is needed, 1 is left). Of these releases 10 would fit."
    for wrong, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError), ("2", TypeError)):
        with pytest.raises(error, match="`fits` must be"):
            plan.cost(ledger, fits=wrong)


def test_what_is_left_is_never_rounded_up_in_words(tmp_path):
    ledger = Ledger(tmp_path / "budget", eps=1.0)
    spend(ledger, ("pure", 1 - 0.29999995))
    said = str(dplr.plan(n_rows=100, n_features=2, eps=0.1, mechanism="fm").cost(ledger))
    assert "before (eps = 0.299999, delta = 1e-12)" in said


@pytest.mark.parametrize(
    "says",
    [Ledger.spent, Ledger.remaining, Ledger.price, Ledger.reserve, Ledger.kept, dplr.results.Plan.cost, BudgetExceeded],
)
def test_what_fits_that_failed_leave_of_a_budget_is_not_called_a_public_fact(says):
    """A fit that fails on its rows gives its eps back: what is left then tells that it failed."""
    assert "public facts" not in inspect.getdoc(says).partition("Privacy\n---")[2].partition("\n---")[0]
