"""The kernel of exponential and Laplace numbers, byte by byte: on skewed streams, so that rare branches are met."""

import numpy as np
import pytest

from dplr._core import IntegerSampler

SCALES = (2**50, 2**50 - 1, 2**49 + 12_345, 3, 1)


class Twin:
    """The sampler in Python's integers, from the text of noise.md and ideal.md."""

    def __init__(self, data):
        self.data, self.place, self.rejected = data, 0, 0

    def byte(self):
        self.place += 1
        return self.data[self.place - 1]

    def below(self, bound):
        size = -(-(bound - 1).bit_length() // 8)
        whole = 1 << 8 * size
        while True:
            value = 0
            for _ in range(size):
                value = value << 8 | self.byte()
            if value * bound % whole >= whole % bound:
                return value * bound // whole

    def at_odds(self, numerator, denominator):
        while True:
            numerator <<= 8
            lower = denominator * self.byte()
            if lower >= numerator:
                return False
            if lower + denominator <= numerator:
                return True
            numerator -= lower

    def exp_minus(self, numerator, denominator, first=1):
        step = first
        while self.at_odds(numerator, step * denominator):
            step += 1
        return step % 2 == 1

    def geometric(self, scale):
        remainder, quotient = self.below(scale), 0
        while not self.exp_minus(remainder, scale):
            remainder = self.below(scale)
        while self.exp_minus(1, 1, first=2):
            quotient += 1
        return remainder + scale * quotient

    def laplace(self, scale):
        while True:
            magnitude, negative = self.geometric(scale), self.below(2)
            if magnitude or not negative:
                return -magnitude if negative else magnitude

    def exponential(self):
        coarse, fine = self.geometric(2**40), self.below(2**56)
        while not self.exp_minus(fine, 2**96):
            self.rejected += 1
            fine = self.below(2**56)
        return coarse, fine


def skewed(seed):
    """Bytes of which many are 0 or 255."""
    rng = np.random.default_rng(seed)
    data, kind, zeros = rng.integers(0, 256, 1_000_000).astype(np.uint8), rng.random(1_000_000), 0.8 * rng.random()
    data[kind < zeros] = 0
    data[(kind >= zeros) & (kind < zeros + 0.1)] = 255
    return data.tobytes()


def compare(seed):
    """The rejections that the kernel and its twin meet on one stream; fails where they differ."""
    data, taken = skewed(seed), [0]

    def refill(size):
        taken[0] += size
        return data[taken[0] - size : taken[0]]

    sampler, twin = IntegerSampler(refill), Twin(data)
    coarse, fine, words = np.empty(1_200, np.int64), np.empty(1_200, np.int64), np.empty(50, np.uint64)
    sampler.exponentials(coarse, fine)
    assert list(zip(coarse.tolist(), fine.tolist(), strict=True)) == [twin.exponential() for _ in range(1_200)]
    for scale in SCALES:
        out = np.empty(50, np.int64)
        sampler.laplace(scale, out)
        assert out.tolist() == [twin.laplace(scale) for _ in range(50)]
    sampler.words(words)
    assert words.tolist() == [int.from_bytes(bytes(twin.byte() for _ in range(8)), "big") for _ in range(50)]
    assert sampler.drawn == twin.place
    return twin.rejected


def test_every_byte_is_read_as_the_proof_says_rejections_too():
    assert sum(compare(seed) for seed in range(12)) > 100


def test_a_twin_that_never_rejects_is_seen(monkeypatch):
    monkeypatch.setattr(Twin, "exponential", lambda self: (self.geometric(2**40), self.below(2**56)))
    with pytest.raises(AssertionError):
        list(map(compare, range(12)))


def test_arrays_of_two_lengths_are_refused():
    with pytest.raises(ValueError, match="one length"):
        IntegerSampler(bytes).exponentials(np.empty(2, np.int64), np.empty(3, np.int64))
