"""Poisson batches: every row joins on its own with exactly its probability."""

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplr._core import IntegerSampler
from dplr.noise import Source, _gap_table
from dplr.privacy.calibration import RATE_UNITS

RATES = [1, 2**10, 62_831_853, 2**28 + 1, 2**31, 3 * 2**30, RATE_UNITS - 1]


@pytest.mark.parametrize("rate", RATES)
def test_gap_table_is_the_exact_law_rounded_down(rate):
    table, starts = _gap_table(rate)
    stays = 1 - Fraction(rate, RATE_UNITS)
    for k in {1, 2, len(table) // 2, len(table)} - {0}:
        if k <= len(table):
            assert table[k - 1] == math.floor((1 - stays**k) * RATE_UNITS)
    assert len(table) == 1000 or table[-1] == RATE_UNITS - 1
    for byte in range(256):
        assert starts[byte] == np.count_nonzero(table < byte * 2**24)


def sampler_that_reads(*pieces):
    """A sampler whose random bytes begin with these."""
    data = b"".join(pieces)
    blocks = iter([data[i : i + 4096].ljust(4096, b"\0") for i in range(0, max(len(data), 1), 4096)])
    return IntegerSampler(lambda size: next(blocks))


def first_index(rate, u_bits, length):
    """The first index drawn when u begins with these bits (an integer of `length` bytes)."""
    table, starts = _gap_table(rate)
    first, rest = u_bits >> (8 * (length - 4)), u_bits & ((1 << (8 * (length - 4))) - 1)
    sampler = sampler_that_reads(int(first).to_bytes(4, "big"), int(rest).to_bytes(length - 4, "big"))
    out = np.empty(1, np.intp)
    sampler.indices(rate, table, starts, 0, 2**40, out)
    return out[0]


@pytest.mark.parametrize("rate", [62_831_853, 2**28 + 1, 3 * 2**30, 2**31 + 7])
@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_a_tie_is_decided_by_the_exact_fraction_to_its_last_bit(rate, k):
    """u = F_k has gap k, the number one bit below it gap k - 1; both have the first 32 bits of the table's entry."""
    table, _ = _gap_table(rate)
    assert k < len(table)
    length = 4 * (len(table) + 1)
    exact = (1 - (1 - Fraction(rate, RATE_UNITS)) ** k) * 2 ** (8 * length)
    assert exact.denominator == 1
    assert int(exact) >> (8 * (length - 4)) == table[k - 1]
    assert first_index(rate, int(exact), length) == k
    assert first_index(rate, int(exact) - 1, length) == k - 1


def test_a_gap_beyond_the_table_is_drawn_in_pieces():
    rate = 2**20
    table, starts = _gap_table(rate)
    assert table[-1] < RATE_UNITS - 1
    out = np.empty(1, np.intp)
    sampler = sampler_that_reads(b"\xff" * 2, b"\xff" * 2, b"\0" * 2)
    assert sampler.indices(rate, table, starts, 5, 10_000, out) == (1, 2006)
    assert out[0] == 2005


def test_a_full_array_ends_a_call_and_the_next_goes_on():
    rate = 2**30
    table, starts = _gap_table(rate)
    parts, position, sampler = [], 0, IntegerSampler(np.random.Generator(np.random.PCG64(3)).bytes)
    while position < 1000:
        out = np.empty(7, np.intp)
        count, position = sampler.indices(rate, table, starts, position, 1000, out)
        parts.append(out[:count])
    np.testing.assert_array_equal(np.concatenate(parts), Source(seed=3).bernoulli_indices(1000, rate))


def test_a_batch_larger_than_its_array_is_drawn_to_its_end(monkeypatch):
    expected, source = Source(seed=8).bernoulli_indices(1000, 2**29), Source(seed=8)
    real = source._unasked

    class Cramped:
        def indices(self, *arguments):
            return real.indices(*arguments[:-1], arguments[-1][:5])

    monkeypatch.setattr(source, "_unasked", Cramped())
    np.testing.assert_array_equal(source.bernoulli_indices(1000, 2**29), expected)


@pytest.mark.parametrize("rate", [62_831_853, 2**28 + 1, 2**31, 3 * 2**30])
def test_gaps_are_geometric(rate):
    index = Source(seed=rate % 97).bernoulli_indices(4_000_000 * 2**28 // rate, rate)
    gaps = np.diff(np.concatenate([[-1], index])) - 1
    p = rate / RATE_UNITS
    edges = np.unique(np.round(stats.geom.ppf(np.linspace(0.01, 0.999, 60), p) - 1).astype(int))
    cuts = np.concatenate([[0], edges + 1])
    law = np.diff(np.append(1 - (1 - p) ** cuts, 1))
    counts = np.diff(np.append(np.searchsorted(np.sort(gaps), cuts), len(gaps)))
    assert stats.chisquare(counts, law * len(gaps)).pvalue > 1e-4


def batches(n, rate, repeats, seed):
    """Membership, (repeats, n)."""
    source, member = Source(seed=seed), np.zeros((repeats, n), bool)
    for row in member:
        row[source.bernoulli_indices(n, rate)] = True
    return member


@pytest.mark.parametrize(("rate", "wrong"), [(2**29, 1.03), (2**31, 1.01), (4_000_000_000, 1.004)])
def test_sizes_are_binomial_and_the_test_sees_a_wrong_rate(rate, wrong):
    n, repeats = 40, 60_000
    sizes = batches(n, rate, repeats, 11).sum(1)

    def p_value(p):
        law = stats.binom.pmf(np.arange(n + 1), n, p) * repeats
        keep = law > 5
        counts = np.bincount(sizes, minlength=n + 1)
        lumped = [np.append(x[keep], x[~keep].sum() + 1e-9) for x in (counts, law)]
        return stats.chisquare(lumped[0], lumped[1] * lumped[0].sum() / lumped[1].sum()).pvalue

    assert p_value(rate / RATE_UNITS) > 1e-4
    assert p_value(rate / RATE_UNITS * wrong) < 1e-4


@pytest.mark.parametrize("rate", [2**27, 2**30, 3 * 2**30])
def test_every_row_is_in_equally_often_and_neighbours_are_independent(rate):
    n, repeats, p = 64, 40_000, rate / RATE_UNITS
    member = batches(n, rate, repeats, 12)
    scores = (member.sum(0) - repeats * p) / math.sqrt(repeats * p * (1 - p))
    assert stats.kstest(scores, "norm").pvalue > 1e-4
    for lag in (1, 2, 7):
        together = (member[:, :-lag] & member[:, lag:]).sum(0)
        scores = (together - repeats * p * p) / math.sqrt(repeats * p * p * (1 - p * p))
        assert np.abs(scores).max() < 4.5  # 64 scores: chance 4e-4
        assert abs(scores.mean()) < 4.5 / math.sqrt(n - lag) * 1.5


def test_all_rows_and_no_rows():
    source = Source(seed=0)
    np.testing.assert_array_equal(source.bernoulli_indices(5, RATE_UNITS), np.arange(5))
    for rate in (1, 2**31, RATE_UNITS):
        assert source.bernoulli_indices(0, rate).tolist() == []
        assert source.bernoulli_indices(0, rate).dtype == np.intp
    assert {tuple(source.bernoulli_indices(1, 2**31)) for _ in range(60)} == {(), (0,)}
    assert all(source.bernoulli_indices(100, RATE_UNITS - 1).size == 100 for _ in range(50))


def test_tiny_rates_reach_far_rows_and_hardly_any():
    source = Source(seed=1)
    found = np.concatenate([source.bernoulli_indices(10**8, 430) for _ in range(40)])  # 10 a batch
    assert 300 < found.size < 520
    assert stats.kstest(found / 10**8, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("rate", [2**20, 2**29, 3 * 2**30])
def test_indices_rise_and_stay_below_n(rate):
    source = Source(seed=2)
    for n in (1, 2, 17, 5000):
        index = source.bernoulli_indices(n, rate)
        assert index.dtype == np.intp
        assert (np.diff(index) > 0).all()
        assert ((index >= 0) & (index < n)).all()


@pytest.mark.parametrize("rate", [0, -1, RATE_UNITS + 1])
def test_rates_outside_their_range_are_refused(rate):
    with pytest.raises(ValueError, match=r"`rate_units` must be in \[1, 2\^32\]"):
        Source(seed=0).bernoulli_indices(10, rate)


def test_sampler_refuses_tables_that_do_not_fit():
    table, starts = _gap_table(2**30)
    sampler, out = IntegerSampler(os.urandom), np.empty(4, np.intp)
    for call in [(0, table, starts), (RATE_UNITS, table, starts)]:
        with pytest.raises(ValueError, match="rate must be in"):
            sampler.indices(*call, 0, 10, out)
    for call in [(5, table[:0], starts), (5, np.zeros(1025, np.uint32), starts), (5, table, starts[1:])]:
        with pytest.raises(ValueError, match="table must have"):
            sampler.indices(*call, 0, 10, out)


def test_batches_come_from_the_sources_entropy(entropy):
    source = Source()
    source.bernoulli_indices(1000, 2**30)
    assert 0 < source.drawn <= entropy.bytes
    assert (
        Source(seed=4).bernoulli_indices(1000, 2**30).tolist() == Source(seed=4).bernoulli_indices(1000, 2**30).tolist()
    )
    assert Source().bernoulli_indices(1000, 2**31).tolist() != Source().bernoulli_indices(1000, 2**31).tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_draws_another_batch():
    source = Source()
    source.bernoulli_indices(4, 2**31)  # leaves most of a buffer unread
    read, write = os.pipe()
    if os.fork() == 0:
        member = np.zeros(400, np.uint8)
        member[source.bernoulli_indices(400, 2**31)] = 1
        os.write(write, member.tobytes())
        os._exit(0)
    os.wait()
    child = np.frombuffer(os.read(read, 400), np.uint8)
    os.close(read)
    os.close(write)
    assert np.flatnonzero(child).tolist() != source.bernoulli_indices(400, 2**31).tolist()
