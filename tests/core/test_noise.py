"""The integer samplers have exactly their laws, and the source shares nothing with anybody."""

import bisect
import copy
import ctypes
import decimal
import functools
import io
import itertools
import math
import operator
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dplr.noise
from dplr._core import IntegerSampler, _strips
from dplr._core._strips import strip_bounds
from dplr.noise import Source

DRAWS = 1_000_000


def chi_square(sample, probability, reach):
    """p-value of counts of -reach..reach, the tails lumped."""
    values = np.arange(-reach, reach + 1)
    expected = np.array([probability(value) for value in values]) * len(sample)
    inside = np.abs(sample) <= reach
    counts = np.bincount(sample[inside] + reach, minlength=len(values))
    tail = len(sample) - expected.sum()
    keep = expected > 5
    observed = np.append(counts[keep], len(sample) - counts[keep].sum())
    expected = np.append(expected[keep], tail + expected[~keep].sum())
    return stats.chisquare(observed, expected).pvalue


def laplace_probability(scale):
    a = math.exp(-1 / scale)
    return lambda z: (1 - a) / (1 + a) * a ** abs(z)


def gaussian_probability(variance):
    total = sum(math.exp(-(z**2) / (2 * variance)) for z in range(-2000, 2001))
    return lambda z: math.exp(-(z**2) / (2 * variance)) / total


@pytest.mark.parametrize("scale", [1, 2, 3, 7, 100])
def test_discrete_laplace_passes_chi_square_at_a_million_draws(scale):
    sample = Source(seed=scale).laplace(scale, DRAWS)
    assert chi_square(sample, laplace_probability(scale), 20 * scale) > 1e-4


@pytest.mark.parametrize("variance", [1, 2, 9, 50, 1024, 1025, 9216, 10_000])
def test_discrete_gaussian_passes_chi_square_at_a_million_draws(variance):
    sample = Source(seed=variance).gaussian(variance, DRAWS)
    assert chi_square(sample, gaussian_probability(variance), math.isqrt(36 * variance)) > 1e-4


def test_chi_square_sees_a_wrong_scale():
    """The test above can fail: two percent off are red."""
    sample = Source(seed=1).laplace(7, DRAWS)
    assert chi_square(sample, laplace_probability(7.14), 140) < 1e-4


def test_chi_square_sees_a_wrong_variance():
    sample = Source(seed=1).gaussian(50, DRAWS)
    assert chi_square(sample, gaussian_probability(51), 42) < 1e-4


@functools.cache
def strip_thresholds():
    """2^600 F_k, F_k = P[q < k] for P[q] prop. to exp(-q^2 / 2048): a power series, and powers of its value."""
    one = 2**700
    term, root, i = one, 0, 0
    while term:
        root, i = root + (-1) ** i * term, i + 1
        term //= 2048 * i
    weights, power, odd = [], one, root  # e^(-q^2 a) by factors of e^(-(2q + 1) a)
    while power:
        weights.append(power)
        power, odd = power * odd // one, odd * root // one * root // one
    sums = list(itertools.accumulate(weights))
    return [2**600 * total // sums[-1] for total in sums]


class Twin:
    """The samplers with events decided by fractions: one happens where the bytes, read as 0.b1 b2 …, are below it."""

    def __init__(self, stream):
        self.stream = iter(stream)

    def happens(self, probability):
        number, width = Fraction(next(self.stream), 256), Fraction(1, 256)
        while number < probability < number + width:
            width /= 256
            number += next(self.stream) * width
        return number + width <= probability

    def below(self, bound):
        size = -((bound - 1).bit_length() // -8)
        while True:
            value = int.from_bytes(bytes(next(self.stream) for _ in range(size)), "big")
            whole, rest = divmod(value * bound, 256**size)
            if rest >= 256**size % bound:
                return whole

    def exp_minus(self, ratio):
        while ratio > 1:
            if not self.exp_minus_one():
                return False
            ratio -= 1
        return self.odd(ratio, 1)

    def exp_minus_one(self):
        return not self.odd(1, 2)

    def odd(self, ratio, first):
        """Whether an odd number of events of ratio / k, k = first, first + 1, …, were tried until one failed."""
        tried = 1
        while self.happens(Fraction(ratio) / (first + tried - 1)):
            tried += 1
        return tried % 2 == 1

    def laplace(self, scale):
        while True:
            remainder, quotient = self.below(scale), 0
            if not self.exp_minus(Fraction(remainder, scale)):
                continue
            while self.exp_minus_one():
                quotient += 1
            magnitude = remainder + scale * quotient
            if not self.below(2):
                return magnitude
            if magnitude:
                return -magnitude

    def strip(self):
        """How many thresholds are at most a uniform number, of which bytes are read until that is certain."""
        number, bits = 0, 0
        for size in (2, 2, *[8] * 9):
            number = number * 256**size + int.from_bytes(bytes(next(self.stream) for _ in range(size)), "big")
            bits += 8 * size
            known = [threshold >> (600 - bits) for threshold in strip_thresholds()]
            if number not in known:
                return bisect.bisect(known, number)
        raise AssertionError

    def gaussian(self, variance):
        width = math.ceil(math.sqrt(variance / 1024))
        while True:
            strip = self.strip()
            place, negative = divmod(self.below(2 * width), 2)
            size = strip * width + place
            if negative and not size:
                continue
            if self.exp_minus(Fraction(size**2, 2 * variance) - Fraction(strip**2, 2048)):
                return -size if negative else size


def tied_bytes(seed):
    """Bytes in which digits of 1/3, 1/5, 1/7 and their like are often repeated: the first digits decide nothing."""
    digits = [0x55, 0x2A, 0xAA, 0x33, 0x24, 0x92, 0x49, 0x00, 0xFF, 0x80, 0x7F]
    rng = np.random.default_rng(seed)
    tied = np.repeat(rng.choice(digits, 2**18), rng.integers(1, 5, 2**18))[: 2**18]
    return np.where(rng.random(2**18) < 0.3, rng.integers(256, size=2**18), tied).astype(np.uint8).tobytes()


@pytest.mark.parametrize(
    ("law", "parameter"),
    [("laplace", k) for k in (1, 3, 7, 2**26 - 3, 2**50 - 27, 2**50)]
    + [("gaussian", k) for k in (2, 9, 9216, 9217, 2**40 + 5, 2**44)],
)
def test_every_event_is_decided_as_fractions_decide_it(law, parameter):
    """Digit by digit, where the first digits of a number and a probability are the same too."""
    stream, position = tied_bytes(parameter % 97), 0

    def refill(size):
        nonlocal position
        position += size
        return stream[position - size : position]

    out = np.empty(500, np.int64)
    sampler, twin = IntegerSampler(refill), Twin(stream)
    getattr(sampler, law)(parameter, out)
    assert out.tolist() == [getattr(twin, law)(parameter) for _ in range(len(out))]
    assert sampler.drawn == len(stream) - operator.length_hint(twin.stream)


def strip_drawn(number, size):
    """The strip where u begins with that number of so many bytes: with width 1 it is the size of what is drawn."""
    data = int(number).to_bytes(size, "big").ljust(4096, b"\0")
    out = np.empty(1, np.int64)
    IntegerSampler(lambda _: data).gaussian(1024, out)
    return out[0]


@pytest.mark.parametrize("bits", [32, 96, 224])
def test_bounds_of_strips_are_exact_to_their_last_bit(bits):
    bounds = strip_bounds(bits)
    assert bounds == [threshold >> (600 - bits) for threshold in strip_thresholds()][: len(bounds)]
    assert bounds[-1] == 2**bits - 1 > bounds[-2]


def test_strips_that_no_number_of_digits_decides_end_with_an_error_and_not_never(monkeypatch):
    monkeypatch.setattr(_strips, "Decimal", lambda _: decimal.Decimal(1))  # an error margin that never shrinks
    with pytest.raises(ArithmeticError, match="200 digits more than 30 do not decide the strips to 32 bits"):
        strip_bounds(32)


@pytest.mark.parametrize(
    "settings",
    [
        {"traps": [decimal.Inexact, decimal.Rounded]},
        {"Emax": 1},
        {"Emax": 5, "Emin": -5, "clamp": 1, "rounding": decimal.ROUND_DOWN},
        {"rounding": decimal.ROUND_UP, "prec": 3},
    ],
)
def test_bounds_of_strips_do_not_know_the_callers_decimals(settings):
    expected = strip_bounds(32)
    with decimal.localcontext(decimal.Context(**settings)) as context:
        assert strip_bounds(32) == expected
        assert not any(context.flags.values())


@pytest.mark.parametrize("k", [1, 2, 40, 150, 203])
@pytest.mark.parametrize("size", [4, 12, 20, 36])
def test_a_tie_of_strips_is_decided_by_as_many_bits_as_it_takes(k, size):
    """The numbers just above and just below F_k, of so many bytes, are in different strips."""
    bound = strip_thresholds()[k - 1] >> (600 - 8 * size)
    above, below = (bisect.bisect(strip_thresholds(), number << (600 - 8 * size)) for number in (bound + 1, bound))
    assert above >= k > below
    assert (strip_drawn(bound + 1, size), strip_drawn(bound, size)) == (above, below)


def test_all_numbers_of_32_bits_are_in_their_strips():
    """By their first 16 bits, or all of them. Those equal to a threshold's are left to the test above."""
    table = np.array([threshold >> 568 for threshold in strip_thresholds()], np.int64)
    first = np.arange(2**16, dtype=np.int64)
    undecided = np.isin(first, table >> 16)
    assert_strips(first[~undecided] << 16, 2, table)
    for begin in first[undecided]:
        numbers = (begin << 16) + first
        assert_strips(numbers[~np.isin(numbers, table)], 4, table)


def assert_strips(numbers, size, table):
    """The strips of numbers of which so many bytes are read: with width 1 two more zeros mean plus, and accepted."""
    rows = np.zeros((len(numbers), size + 2), np.uint8)
    for place in range(size):
        rows[:, place] = numbers >> (24 - 8 * place) & 255
    stream = io.BytesIO(rows.tobytes() + bytes(4096))
    sampler, out = IntegerSampler(stream.read), np.empty(len(numbers), np.int64)
    sampler.gaussian(1024, out)
    assert sampler.drawn == rows.size
    np.testing.assert_array_equal(out, np.searchsorted(table, numbers, side="right"))


@pytest.mark.parametrize(("width", "size"), [(3, 1), (100, 1), (129, 2), (1000, 2)])
def test_places_are_equally_many_for_all_bytes(width, size):
    """All bytes that choose a place and a sign, but those rejected or minus zero: strip 0 before, acceptance after."""
    value = np.arange(256**size, dtype=np.int64)
    whole, rest = np.divmod(value * (2 * width), 256**size)
    rejected = rest < 256**size % (2 * width)
    kept = value[~rejected & (whole != 1)]
    rows = np.full((len(kept), size + 3), 255, np.uint8)
    rows[:, :2] = 0
    for place in range(size):
        rows[:, 2 + place] = kept >> (8 * (size - 1 - place)) & 255
    stream = io.BytesIO(rows.tobytes() + bytes(4096))
    sampler, out = IntegerSampler(stream.read), np.empty(len(kept), np.int64)
    sampler.gaussian(1024 * width**2, out)
    assert sampler.drawn == rows.size
    counts = np.bincount(out + width)[1:]
    assert (counts == 256**size // (2 * width)).all()
    assert len(counts) == 2 * width - 1


@pytest.mark.parametrize("scale", [2**26, 2**27 - 1, 2**40])
def test_large_laplace_scales_have_the_continuous_law_to_the_eye_of_a_test(scale):
    sample = Source(seed=scale % 1000).laplace(scale, 100_000) / scale
    assert stats.kstest(sample, "laplace").pvalue > 1e-4


@pytest.mark.parametrize("variance", [2**40, 2**44])
def test_large_gaussian_variances_have_the_continuous_law_to_the_eye_of_a_test(variance):
    sample = Source(seed=5).gaussian(variance, 50_000) / math.sqrt(variance)
    assert stats.kstest(sample, "norm").pvalue > 1e-4


def test_low_bits_of_large_noise_are_uniform():
    """Residues modulo 16 of a wide discrete law are uniform up to 2^-40: a float sampler would leave holes."""
    sample = Source(seed=3).laplace(2**26, 200_000)
    assert stats.chisquare(np.bincount(sample % 16, minlength=16)).pvalue > 1e-4


@pytest.mark.oracle
@pytest.mark.parametrize("scale", [1, 3, 40])
def test_discrete_laplace_agrees_with_opendp(oracle, scale):
    dp = oracle("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    other = np.array(dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))([0] * 50_000))
    ours = Source(seed=scale + 10).laplace(scale, 50_000)
    assert two_sample(ours, other) > 1e-4


@pytest.mark.oracle
@pytest.mark.parametrize("sigma", [1, 3, 40])
def test_discrete_gaussian_agrees_with_opendp(oracle, sigma):
    dp = oracle("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    other = np.array(dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(sigma))([0] * 50_000))
    ours = Source(seed=sigma + 10).gaussian(sigma**2, 50_000)
    assert two_sample(ours, other) > 1e-4


def two_sample(left, right):
    edges = np.unique(np.quantile(np.concatenate([left, right]), np.linspace(0, 1, 41)))
    table = [np.histogram(sample, np.append(edges, np.inf))[0] for sample in (left, right)]
    table = np.array(table)[:, np.sum(table, axis=0) > 0]
    return stats.chi2_contingency(table).pvalue


def test_samplers_refuse_scales_that_would_overflow():
    source = Source(seed=0)
    for call, bad in [(source.laplace, 0), (source.laplace, 2**50 + 1), (source.gaussian, 0), (source.gaussian, 2**45)]:
        with pytest.raises(ValueError, match="must be in"):
            call(bad, 1)


def test_entropy_is_counted_and_comes_from_the_operating_system(entropy):
    source = Source()
    assert (source.drawn, entropy.bytes) == (0, 0)
    source.laplace(1000, 3)
    assert 0 < source.drawn <= entropy.bytes
    before = source.drawn
    source.laplace(1000, 1)  # from bytes already buffered: still noise, so still counted
    assert source.drawn > before


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("units", [2.5, np.float64(3.0), "3"])
def test_units_of_noise_are_integers_and_nothing_is_cut_off(law, units):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        getattr(Source(seed=0), law)(units, 1)


def test_a_sampler_without_a_source_of_bytes_draws_nothing():
    """Its buffer holds 4096 zeros, and its noise would be 0."""
    with pytest.raises(TypeError, match="not callable"):
        IntegerSampler.__new__(IntegerSampler).gaussian(2**40, np.empty(1, np.int64))


def test_used_and_forgotten_bytes_are_wiped():
    tie = (strip_thresholds()[39] >> 568).to_bytes(4, "big")
    block = tie + os.urandom(4092)
    sampler = IntegerSampler(lambda size: block)
    sampler.gaussian(2**40, np.empty(100, np.int64))

    def holds(piece):
        return piece in ctypes.string_at(id(sampler), sampler.__sizeof__())

    assert 400 < sampler.drawn < 4000
    assert holds(block[sampler.drawn :])
    assert not any(holds(block[i : i + 8]) for i in range(sampler.drawn - 7))
    sampler.forget()
    assert not any(holds(block[i : i + 8]) for i in range(4089))


def test_after_forgetting_all_bytes_are_new():
    """Not the zeros that wiped ones leave."""
    fresh, other, again = os.urandom(4096), np.empty(50, np.int64), np.empty(50, np.int64)
    blocks = iter([os.urandom(4096), fresh])
    sampler = IntegerSampler(lambda size: next(blocks))
    sampler.gaussian(2**40, other)
    sampler.forget()
    sampler.gaussian(2**40, other)
    IntegerSampler(lambda size: fresh).gaussian(2**40, again)
    assert other.tolist() == again.tolist()


def test_entropy_that_ends_in_the_middle_of_a_draw_is_counted_and_not_used_again():
    blocks = iter([np.random.default_rng(1).bytes(4096)])

    def refill(size):
        for block in blocks:
            return block
        raise OSError("no more")

    sampler, out = IntegerSampler(refill), np.empty(10_000, np.int64)
    for _ in range(2):
        with pytest.raises(OSError, match="no more"):
            sampler.gaussian(2**40, out)
        assert sampler.drawn == 4096


def test_entropy_source_that_returns_too_little_is_refused():
    with pytest.raises(OSError, match="too few bytes"):
        IntegerSampler(lambda size: b"\0" * (size - 1)).laplace(5, np.empty(1, np.int64))


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, pickle.dumps])
def test_source_and_sampler_cannot_be_copied_or_pickled(act):
    for thing in (Source(), IntegerSampler(os.urandom)):
        with pytest.raises(TypeError, match=r"copied|pickled"):
            act(thing)


def test_same_seed_gives_the_same_noise_and_says_so():
    left, right = Source(seed=4), Source(seed=4)
    assert left.reproducible
    assert (left.laplace(10**6, 50) == right.laplace(10**6, 50)).all()
    assert not Source().reproducible


def test_two_sources_never_share_noise():
    assert (Source().laplace(2**30, 20) != Source().laplace(2**30, 20)).any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_drops_its_parents_unread_bytes():
    source = Source()
    source.laplace(2**30, 1)  # leaves most of a buffer unread
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, source.laplace(2**30, 20).tobytes())
        os._exit(0)
    os.wait()
    child = np.frombuffer(os.read(read, 160), np.int64)
    os.close(read)
    os.close(write)
    assert len(child) == 20
    assert (child != source.laplace(2**30, 20)).any()


def test_operating_system_entropy_is_not_a_user_seeded_generator(monkeypatch):
    """Seeding numpy and random changes nothing."""
    np.random.seed(0)  # noqa: NPY002
    first = Source().laplace(2**30, 10)
    np.random.seed(0)  # noqa: NPY002
    assert (first != Source().laplace(2**30, 10)).any()
    assert dplr.noise._operating_system(8) != dplr.noise._operating_system(8)


def test_real_noise_reaches_points_between_the_steps_of_one_discrete_gaussian():
    """On the lattice of one integer draw an observer could tell from a release which coefficients it was added to."""
    steps = Source(seed=6).normal(1.0, 20_000) * 2**20
    assert stats.kstest(steps - np.floor(steps), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 256, 1000])
def test_numbers_below_a_bound_are_uniform(bound):
    source, draws = Source(seed=4), 4_000
    found = np.bincount([source.below(bound) for _ in range(draws)], minlength=bound)
    assert len(found) == bound
    assert bound == 1 or stats.chisquare(found).pvalue > 1e-4


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1, 3), Fraction(2**70 - 1, 2**71), Fraction(1)])
def test_events_of_a_fraction_happen_as_often_as_it_says(probability):
    source, draws = Source(seed=8), 4_000
    count = sum(source.happens(probability) for _ in range(draws))
    assert stats.binomtest(count, draws, float(probability)).pvalue > 1e-4


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(9, 5), Fraction(10**9)])
def test_events_of_an_exponential_happen_as_often_as_it_says(exponent):
    source, draws = Source(seed=6), 4_000
    count = sum(source.happens_exp(exponent) for _ in range(draws))
    assert stats.binomtest(count, draws, math.exp(-exponent)).pvalue > 1e-4
