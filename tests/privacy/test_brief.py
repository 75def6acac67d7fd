"""The short form of a statement: whom it protects and how well, in plain words made of kinds and numbers."""

import dataclasses
import math
from decimal import Decimal

import pytest

import dplr
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import best_guess, delta_words
from dplr.privacy.unit import Unit

JARGON = ("kappa", "tau", "gauge", "theorem", "Lam", "sensitivity", "grid of", "mu =")


def statement(mechanism="objective", **options):
    bounds = dplr.Bounds({"age": (18, 80)}, target=("no", "yes"))
    return dplr.plan(n_rows=1000, bounds=bounds, mechanism=mechanism, **{"eps": 0.8, **options}).statement


def text(of):
    return " ".join(of.brief)


@pytest.mark.parametrize("mechanism", ["objective", "fm", "output", "ngd", "score"])
def test_it_is_a_few_sentences_without_the_constants_of_a_proof(mechanism):
    delta = 1e-6 if mechanism in ("ngd", "score") else 0.0
    said = statement(mechanism, delta=delta).brief
    assert 4 <= len(said) <= 5
    assert all(each.endswith(".") for each in said)
    assert not any(word in " ".join(said) for word in JARGON)
    assert ("Proved for real numbers" in said[-1]) is (statement(mechanism, delta=delta).arithmetic != "integer")


def test_the_factor_and_the_chance_of_a_guess_are_rounded_up():
    for eps in (0.01, 0.1, 0.8, 1.0, 3.0, 5.0):
        said = text(dataclasses.replace(statement("fm"), eps=eps))
        factor = float(said.split("more than ")[1].split()[0])
        assert math.exp(eps) <= factor <= 1.01 * math.exp(eps)
        chance = float(said.split("at most ")[1].split()[0])
        assert 0 <= chance / 100 - best_guess(eps, 0.0) <= 0.001 + 1e-12
        assert f"(eps = {eps:g})" in said


@pytest.mark.parametrize("eps", [1e-6, 0.5, 6.5, 7.0, 8.7654321, 9.9999])
def test_the_printed_factor_is_never_below_the_bound(eps):
    said = text(dataclasses.replace(statement("fm"), eps=eps))
    assert Decimal(said.split("more than ")[1].split()[0]) >= Decimal(eps).exp()


@pytest.mark.parametrize("eps", [10.0, 12.3456, 30.0, 50.7, 699.0, 701.0, 1000.0])
def test_a_factor_that_means_nothing_has_no_digits(eps):
    said = text(dataclasses.replace(statement("fm"), eps=eps))
    assert f"more than e^eps times as likely (eps = {eps:g}): so large a factor protects nobody." in said


@pytest.mark.parametrize("void", [{"uncovered": ("a step learned from the rows",)}, {"reproducible": True}])
def test_beside_what_voids_it_the_promise_is_conditional_and_nothing_is_called_covered(void):
    one = statement("fm")
    said = dataclasses.replace(one, **void).brief
    assert "is covered" in text(one)
    assert not any("is covered" in each for each in said)
    assert not any(each.startswith(("One record is protected", "Whoever")) for each in said)
    assert said[1] == f"But for that, this would hold: {one.brief[0]} {one.brief[1]}"


def test_the_public_facts_that_it_names_are_not_all():
    assert "taken as public, such as bounds, options and the number of records." in text(statement("fm"))


@pytest.mark.parametrize(("eps", "said"), [(9.0, "nearly always"), (700.0, "nearly always"), (2000.0, "nearly always")])
def test_a_loose_bound_says_that_it_promises_little(eps, said):
    assert said in text(dataclasses.replace(statement("fm"), eps=eps))


def test_delta_is_named_as_what_is_added():
    assert "plus delta" not in text(statement("fm"))
    assert "plus delta = 1e-06" in text(statement("ngd", delta=1e-6))
    assert "plus delta below 10^-19" in text(statement("objective"))


@pytest.mark.parametrize(("delta", "words"), [(1e-6, "= 1e-06"), (1e-15, "= 1e-15"), (2.0**-64, "below 10^-19")])
def test_a_tiny_delta_is_a_power_of_ten_that_it_is_below(delta, words):
    assert delta_words(delta) == words


def test_it_says_whom_the_unit_and_the_relation_protect():
    one = statement("fm")
    assert "One record is protected: had any one record said anything else" in text(one)
    assert "the number of records" in text(one)
    there = dataclasses.replace(one, neighbouring=Neighbouring.ADD_REMOVE)
    assert "and whether it is there, is protected: had any one record been missing" in text(there)
    assert "the number of" not in text(there)
    person = dataclasses.replace(one, unit=Unit(person="patient"))
    assert "One person with all their rows (column patient) is protected: had the rows" in text(person)
    assert "the number of persons" in text(person)


def test_what_voids_the_promise_comes_first():
    one = dataclasses.replace(statement("fm"), uncovered=("a step learned from the rows",), reproducible=True)
    assert one.brief[0] == "NOT COVERED: a step learned from the rows."
    assert one.brief[1].startswith("Not private: the noise came from a seed")
    (none,) = statement("none", eps=math.inf).brief
    assert none.startswith("No privacy")


def test_the_full_statement_keeps_every_constant():
    one = statement("objective")
    assert all(word in str(one) for word in ("kappa", "tau", "gauge", "theorem"))


@pytest.mark.parametrize(("eps", "delta"), [(0.5, 0.1), (1e-6, 0.3), (2.0, 0.05)])
def test_the_best_guess_is_that_of_the_worst_pair_and_counts_delta(eps, delta):
    """Randomised response that tells the truth outright with probability delta, else at odds of e^eps."""
    assert best_guess(eps, delta) == pytest.approx(delta + (1 - delta) * math.exp(eps) / (1 + math.exp(eps)))
