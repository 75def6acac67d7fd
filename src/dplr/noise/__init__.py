"""The only randomness: integer noise on the operating system's entropy, and real vectors made of it. Private."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from dplr._core import IntegerSampler
from dplr._kit.validation import check_count, sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.noise import ideal
from dplr.privacy.calibration import RATE_UNITS

# A Gaussian is a coarse draw and a fine one: 2^20 coarse steps in its deviation, 2^20 fine steps in a coarse one.
_COARSE = 2**20
_SMOOTHING = 2**22  # deviation of the fine draw: four coarse steps, which leave nothing of the coarse lattice
LARGEST_SCALE = 2**50  # of discrete Laplace noise
Ints = NDArray[Any]  # int64, or Python integers of any size
_LONGEST_GAP = 1000  # entries of a table of gaps between sampled rows; longer gaps are drawn in pieces


class Source:
    """Draws noise; never copied, never pickled, never shared with a forked child.

    Parameters
    ----------
    seed : None for the operating system's entropy. An int gives a reproducible stream for tests and simulation: whoever
        knows it can remove the noise.

    Notes
    -----
    `drawn` counts the random bytes used so far; nothing is refunded once the first draw was announced to the ledger.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.reproducible: bool = seed is not None
        if seed is None:
            self._unasked = IntegerSampler(_operating_system)
        else:
            stream = np.random.Generator(np.random.PCG64(check_count("rng", seed, minimum=0, most=math.inf)))
            self._unasked = IntegerSampler(stream.bytes)
        self._waiting: list[Callable[[], object]] = []
        self._telling, self._process = threading.RLock(), os.getpid()
        _ALIVE.add(self)

    @property
    def drawn(self) -> int:
        """Random bytes used so far."""
        return self._unasked.drawn

    @contextlib.contextmanager
    def told_first(self, hook: Callable[[], object]) -> Iterator[None]:
        """Call `hook` once, before the first noise that is drawn inside; if it raises, nothing is drawn.

        Hooks nest, as the fits of a search do: the outer one is called first.
        """
        self._waiting.append(hook)
        try:
            yield
        finally:
            if hook in self._waiting:
                self._waiting.remove(hook)

    @property
    def _sampler(self) -> IntegerSampler:
        """The sampler, after whoever waits for the first draw was told: every method that draws takes it from here."""
        self._tell()
        return self._unasked

    def _tell(self) -> None:
        """Whoever draws meanwhile waits: no thread draws before every hook has been called, and each is called once."""
        if self._process != os.getpid():  # a forked child whose hook was given up: see `IntegerSampler`
            self.forget()
        with self._telling:
            while self._waiting:
                self._waiting[0]()
                self._waiting.pop(0)

    def laplace(self, scale: int, size: int) -> NDArray[np.int64]:
        """Discrete Laplace: P[z] proportional to exp(-|z| / scale). CKS20 Algorithm 2."""
        out = np.empty(size, np.int64)
        self._sampler.laplace(scale, out)
        return out

    def gaussian(self, variance: int, size: int) -> NDArray[np.int64]:
        """Discrete Gaussian: P[z] proportional to exp(-z^2 / (2 variance)). noise.md, section 3."""
        out = np.empty(size, np.int64)
        self._sampler.gaussian(variance, out)
        return out

    def norm_gamma(self, scale: Fraction, size: int) -> Ints:
        """round(b), density of b proportional to exp(-||b|| / scale): norm Gamma(size), direction uniform (CM08).

        Exactly the law of the rounded vector, as in all three methods: ideal.md, theorem 1.
        """
        _check_scales([scale])
        return _whole(ideal.norm_gamma(self._sampler, scale, size))

    def in_body(self, scales: Sequence[Fraction], groups: Sequence[int]) -> Ints:
        """round(b), density of b proportional to exp(-N(b)), N the gauge of a body (Hardt and Talwar 2010).

        The body is a product over groups of coordinates, in their order: of a group of one it has the interval of that
        half-width, its scale, of m coordinates the cross-polytope of theirs. N(b) is the largest over groups of the sum
        of |b_j| / half-width.
        """
        _check_scales(scales)
        if min(groups) < 1 or sum(groups) != len(scales):
            raise ValueError(sentence("groups", f"must be sizes that add up to {len(scales)}", list(groups)))
        return _whole(ideal.in_body(self._sampler, scales, groups))

    def normals(self, deviation: Fraction, size: int) -> Ints:
        """round(y) for independent Gaussian numbers y."""
        _check_scales([deviation])
        return _whole(ideal.normals(self._sampler, deviation, size))

    def normal(self, deviation: float, size: int) -> NDArray[np.float64]:
        """Independent Gaussians for simulations, which release nothing: on a grid of 2^-40 of the deviation.

        The sum of a coarse discrete Gaussian and a fine one, four coarse steps wide, is a discrete Gaussian on the fine
        grid up to a factor within 10^-135 of 1, and its deviation is larger than the stated one by 2^-37 of it.
        """
        steps = self.gaussian(_COARSE**2, size) * _COARSE + self.gaussian(_SMOOTHING**2, size)
        return np.asarray(steps * (deviation / _COARSE**2), dtype=np.float64)

    def bernoulli_indices(self, n: int, rate_units: int) -> NDArray[np.intp]:
        """Sorted indices of 0..n-1, each one in with probability exactly rate_units / 2^32, independently (Poisson)."""
        if rate_units == RATE_UNITS:
            return np.arange(n)
        table, starts = _gap_table(rate_units)
        mean = n * (rate_units / RATE_UNITS)
        pieces: list[NDArray[np.intp]] = []
        position = 0
        while position < n or not pieces:  # one turn, except about once in many millions
            room = np.empty(int(mean + 6 * math.sqrt(mean)) + 16, np.intp)
            count, position = self._sampler.indices(rate_units, table, starts, position, n, room)
            pieces.append(room[:count])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def words(self, size: int) -> NDArray[np.uint64]:
        """Uniform numbers of 64 bits."""
        out = np.empty(size, np.uint64)
        self._sampler.words(out)
        return out

    def below(self, bound: int) -> int:
        """Uniform on {0, ..., bound - 1}, exactly: fair bits, drawn again where they make a number too large."""
        bits = (check_count("bound", bound, most=math.inf) - 1).bit_length()
        while True:
            value: int = sum(1 << place for place in self.bernoulli_indices(bits, RATE_UNITS // 2).tolist())
            if value < bound:
                return value

    def happens(self, probability: Fraction) -> bool:
        """True with exactly this probability, a fraction in [0, 1]."""
        return self.below(probability.denominator) < probability.numerator

    def happens_exp(self, exponent: Fraction) -> bool:
        """True with probability exp(-exponent), exactly, for a fraction of at least 0. CKS20 Algorithm 1."""
        while exponent > 1:
            if not self.happens_exp(Fraction(1)):
                return False
            exponent -= 1
        count = 1
        while self.happens(exponent / count):
            count += 1
        return count % 2 == 1

    def forget(self) -> None:
        """Drop unread random bytes. For a forked child: threads that it lacks may hold the locks."""
        self._telling, self._process = threading.RLock(), os.getpid()
        self._unasked.forget()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:  # which copies ask for too
        raise TypeError("a noise source cannot be copied or pickled: two fits must never share noise")


def _check_scales(scales: Sequence[Fraction]) -> None:
    """Refuse what is no scale of noise, before anybody is told of a draw."""
    if min(scales) <= 0:
        raise ValueError(sentence("scale", "must be positive", float(min(scales))))


def _whole(numbers: list[int]) -> Ints:
    """Whole numbers as int64 where that holds all of them, and else as Python's integers."""
    return np.array(numbers, np.int64 if max(map(abs, numbers), default=0) < 2**62 else object)


@functools.lru_cache(maxsize=8)
def _gap_table(rate_units: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """floor(2^32 F_k), F_k = P[gap < k] in exact integers, and where each first byte starts in it."""
    if not 1 <= rate_units < RATE_UNITS:
        raise ValueError(sentence("rate_units", "must be in [1, 2^32]", rate_units))
    entries: list[int] = []
    stays, one = RATE_UNITS - rate_units, 1
    power = 1
    while len(entries) < _LONGEST_GAP and RATE_UNITS - 1 not in entries[-1:]:
        power *= stays
        one *= RATE_UNITS
        entries.append((one - power) * RATE_UNITS // one)
    table = np.array(entries, np.uint32)
    return table, np.searchsorted(table, np.arange(256, dtype=np.uint32) << 24).astype(np.uint16)


def _operating_system(size: int) -> bytes:
    return os.urandom(size)


_ALIVE: weakref.WeakSet[Source] = weakref.WeakSet()


def _forget_all() -> None:
    for source in list(_ALIVE):
        source.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def source_of(rng: int | None) -> Source:
    """The noise of a release; a seed is for tests, and warned of."""
    if rng is None:
        return Source()
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        remedy = "Generator objects are refused: copies of an estimator would share their noise."
        raise TypeError(sentence("rng", "must be None or an int", rng, remedy))
    message = "rng is set: the noise can be reproduced, so this fit protects nobody. Use rng=None for a real release."
    warn(message, PrivacyWarning)
    return Source(int(rng))
