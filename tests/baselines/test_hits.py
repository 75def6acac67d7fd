"""Positions and geometric numbers have exactly their laws, whichever way they are drawn."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplr.baselines import hits as drawing
from dplr.baselines.hits import Chance, Words, geometric, hits, two_sided
from dplr.noise import Source


def agrees(counts, expected):
    """Whether counts have these expectations: chi-square, rare outcomes together."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    keep = expected > 5
    counts = np.append(counts[keep], counts[~keep].sum())
    expected = np.append(expected[keep], expected[~keep].sum())
    if expected[-1] < 1:
        counts, expected = counts[:-1], expected[:-1]
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("stop", [2**32 // 300, 1_415_964_620, 2**32 - 2**20])
def test_geometric_numbers_have_their_law(stop):
    a = 1 - stop / 2**32
    found = geometric(Source(seed=1), 200_000, stop)
    reach = int(found.max()) + 2
    assert agrees(np.bincount(found, minlength=reach), 200_000 * (1 - a) * a ** np.arange(reach))


@pytest.mark.parametrize("stop", [2**32 // 50, 1_415_964_620])
def test_noise_has_the_two_sided_law(stop):
    a = 1 - stop / 2**32
    found = two_sided(Source(seed=2), 300_000, stop)
    reach = int(np.abs(found).max()) + 1
    values = np.arange(-reach, reach + 1)
    law = (1 - a) / (1 + a) * a ** np.abs(values)
    assert agrees(np.bincount(found + reach, minlength=len(values)), 300_000 * law)


def test_without_noise_nothing_is_added():
    assert not two_sided(Source(seed=0), 1000, 2**32).any()
    assert len(geometric(Source(seed=0), 0, 2**31)) == 0


def test_geometric_numbers_go_on_where_a_stretch_of_cells_ends(monkeypatch):
    monkeypatch.setattr(drawing, "_stretch", lambda count, stop: 3)
    found = geometric(Source(seed=0), 5_000, 2**30)
    assert agrees(np.bincount(found, minlength=60), 5_000 * 0.25 * 0.75 ** np.arange(max(60, found.max() + 1)))


def subsets_are_independent(p, cells, runs):
    """Every subset of a few cells is as frequent as independent hits make it."""
    words, counts = Words(Source(seed=3)), np.zeros(2**cells)
    for _ in range(runs):
        found = hits(words, cells, p.numerator, p.denominator).tolist()
        assert found == sorted(set(found))
        counts[sum(1 << place for place in found)] += 1
    sizes = [sum(bits) for bits in itertools.product((0, 1), repeat=cells)]
    return agrees(counts, [runs * float(p**size * (1 - p) ** (cells - size)) for size in sizes])


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(2**30 - 1, 2**33 - 7)])
def test_dense_hits_are_independent(p):
    assert subsets_are_independent(p, 4, 20_000)


@pytest.mark.parametrize("bits", [64, 1])
@pytest.mark.parametrize("p", [Fraction(1, 5), Fraction(1, 7), Fraction(2, 23)])
def test_hits_by_spans_are_independent(p, bits, monkeypatch):
    """Two cells and more in a span, a hit in every second one; with 1 bit a chance is rounded up to almost twice."""
    monkeypatch.setattr(drawing, "_DENSE", 0)
    monkeypatch.setattr(drawing, "_SPAN", 1)
    monkeypatch.setattr(drawing, "_EXTRA", bits)
    assert subsets_are_independent(p, 6, 20_000)


@pytest.mark.parametrize("dense", [0, 14])
def test_what_a_rate_of_few_bits_leaves_of_a_chance_is_drawn_too(dense, monkeypatch):
    """1/3 is 1/4 or else 1/9; or, by spans, a span in two thirds of which is a hit is taken from three quarters."""
    monkeypatch.setattr(drawing, "_DENSE", dense)
    monkeypatch.setattr(drawing, "_FINE", 2)
    monkeypatch.setattr(drawing, "_SPAN", 1 if dense else 0)
    assert subsets_are_independent(Fraction(1, 3), 4, 20_000)


def test_number_and_places_of_rare_hits_have_their_law():
    """2^-15 per cell, in compiled code for no cell: spans of 32 cells."""
    words, cells, p = Words(Source(seed=4)), 2**17, Fraction(3, 2**17 + 1)
    found = [hits(words, cells, p.numerator, p.denominator) for _ in range(4_000)]
    sizes = np.bincount([len(each) for each in found], minlength=15)
    assert agrees(sizes, 4_000 * stats.binom.pmf(np.arange(len(sizes)), cells, float(p)))
    places = np.concatenate(found)
    assert agrees(np.bincount(places // 2**12, minlength=32), np.full(32, len(places) / 32))
    assert agrees(np.bincount(places % 32, minlength=32), np.full(32, len(places) / 32))


def test_hits_among_more_cells_than_64_bits_count():
    words, cells = Words(Source(seed=5)), 10**30
    found = hits(words, cells, 2000, cells)
    assert found.dtype == object
    assert all(type(place) is int for place in found)
    assert found.tolist() == sorted(set(found.tolist()))
    assert 1700 < len(found) < 2300
    assert stats.kstest([place / cells for place in found], "uniform").pvalue > 1e-4


class Scripted(Words):
    """Words that are given."""

    def __init__(self, *words):
        self._next = iter(words)


def test_events_are_decided_by_as_many_words_as_they_need():
    whole = 2**64
    third = Chance(1, 3)
    digit = whole // 3
    assert Scripted(digit - 1).happens(third)
    assert not Scripted(digit + 1).happens(third)
    assert Scripted(digit, digit - 1).happens(third)  # 1/3 has the same digit again and again
    assert not Scripted(digit, digit, digit + 1).happens(third)
    half = Chance(1, 2)
    assert not Scripted(whole // 2, 0, 1).happens(half)  # a number of at least 1/2, whatever follows
    assert Scripted(whole - 1).happens(Chance(7, 7))


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(1, 3), (5, 7), (10**40, 3 * 10**40 + 1), (1, 2**64), (2**70 - 1, 2**70)]
)
def test_events_are_those_of_exact_fractions(numerator, denominator):
    rng, p = np.random.default_rng(0), Fraction(numerator, denominator)
    for _ in range(200):
        words = [int(word) for word in rng.integers(0, 2**64, 8, dtype=np.uint64)]
        if rng.random() < 0.5:  # begin with the digits of the chance
            start = (p.numerator << 128) // p.denominator
            words[:2] = [min(start >> 64, 2**64 - 1), start % 2**64]
        drawn = sum(Fraction(word, 2 ** (64 * place)) for place, word in enumerate(words, 1))
        assert Scripted(*words).happens(Chance(numerator, denominator)) == (drawn < p)


def test_whole_numbers_below_a_bound_are_uniform_and_exact():
    words = Words(Source(seed=7))
    counts = np.bincount([words.below(6) for _ in range(30_000)], minlength=6)
    assert agrees(counts, np.full(6, 5_000))
    assert words.below(1) == 0
    large = [words.below(3 * 2**90) for _ in range(3_000)]
    assert max(large) < 3 * 2**90
    assert agrees(np.bincount([value >> 90 for value in large], minlength=3), np.full(3, 1_000))


def test_words_are_fair_bits():
    words = Words(Source(seed=8)).draw(20_000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64)
    assert agrees(bits.sum(axis=0), np.full(64, 10_000))
    assert len(np.unique(words)) == len(words)
