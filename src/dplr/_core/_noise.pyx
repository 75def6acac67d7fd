"""Exact integer noise from random bytes: discrete Laplace (Canonne, Kamath and Steinke 2020), discrete Gaussian.

Exact Poisson batches too. Only integer arithmetic on uniform bits is used: no floating-point number or logarithm enters
a probability, and a table of rounded ones decides only where the rounding cannot matter. `noise.md` has the proofs. The
samplers reject, so their running time depends on the noise drawn (never on the data): see docs/trust/attack-model.md.
"""
from bisect import bisect_left
from math import isqrt
from operator import index
from os import getpid
from threading import RLock

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from dplr._core._strips import strip_bounds, strip_table

cdef extern from *:
    """
    typedef unsigned __int128 dplr_uint128;
    """
    ctypedef unsigned long long uint128 "dplr_uint128"

cdef enum:
    BUFFER_BYTES = 4096
    SQUARED_DEVIATION = 1024


cdef class IntegerSampler:
    """Draws integer noise from `refill(n_bytes) -> bytes`. Holds unread random bytes: no copy, no pickle.

    `drawn` counts the bytes used. Threads may share a sampler: whoever draws holds its lock, so no byte is used twice.
    """

    cdef uint8_t buffer[BUFFER_BYTES]
    cdef Py_ssize_t position
    cdef object refill, lock, process
    cdef readonly int64_t drawn
    cdef int64_t forgotten          # calls of `forget`
    cdef const uint32_t[::1] strips
    cdef const uint16_t[::1] strip_starts

    def __cinit__(self):
        # Not in __init__, which can be left out: the buffer would then count as 4096 unread bytes, all of them 0.
        self.position = BUFFER_BYTES
        self.drawn = self.forgotten = 0
        self.strips = self.strip_starts = None
        self.process = getpid()
        self.lock = RLock()     # of the same thread too: a signal may draw while `refill` runs

    def __init__(self, refill):
        self.refill = refill

    def __reduce_ex__(self, protocol):
        raise TypeError("IntegerSampler holds secret random bytes: it cannot be copied or pickled")

    def forget(self):
        """Wipe and drop unread bytes, so that a forked child never reuses its parent's: for such a child alone.

        The lock is new: a thread of the parent, which the child lacks, may have held the old one.
        """
        self.process = getpid()
        self.lock = RLock()
        memset(self.buffer, 0, BUFFER_BYTES)
        self.position = BUFFER_BYTES
        self.forgotten += 1

    cdef object lock_here(self):
        """The lock of this process. A forked child starts afresh, whether it was told or not.

        What tells it, a hook after the fork, is given up where a signal raises in it: Python prints that and goes on.
        """
        if self.process != getpid():
            self.forget()
        return self.lock

    cdef int fill(self) except -1:
        cdef const uint8_t[::1] fresh = None
        cdef int64_t before = self.forgotten - 1
        while before != self.forgotten:     # a signal may fork in there: the parent then has these bytes too
            before = self.forgotten
            fresh = self.refill(BUFFER_BYTES)
        if fresh.shape[0] != BUFFER_BYTES:
            raise OSError("the entropy source returned too few bytes")
        memcpy(self.buffer, &fresh[0], BUFFER_BYTES)
        self.position = 0
        return 0

    cdef int read(self, uint8_t *out, Py_ssize_t size) except -1:
        if self.position + size > BUFFER_BYTES:
            self.fill()
        memcpy(out, self.buffer + self.position, size)
        memset(self.buffer + self.position, 0, size)
        self.position += size
        self.drawn += size
        return 0

    cdef inline int digit(self) except -1:
        """A random byte."""
        cdef int value
        if self.position == BUFFER_BYTES:
            self.fill()
        value = self.buffer[self.position]
        self.buffer[self.position] = 0
        self.position += 1
        self.drawn += 1
        return value

    cdef uint64_t below(self, uint64_t bound) except? 0:
        """Uniform on {0, ..., bound - 1}, for bounds up to 2^56: a share of whole bytes, the uneven rest rejected."""
        cdef uint128 product
        cdef uint64_t value, rest, one = 1
        cdef int bits = 0, _i
        while (bound - 1) >> bits != 0:
            bits += 8
        while True:
            value = 0
            for _i in range(0, bits, 8):      # byte by byte: the same on every byte order
                value = (value << 8) | <uint64_t> self.digit()
            # value * bound / 2^bits, rounded down, is each number equally often once the first rests are left out.
            product = <uint128> value * bound
            rest = <uint64_t> product & ((one << bits) - 1)
            if rest >= bound or rest >= (one << bits) % bound:
                return <uint64_t> (product >> bits)

    cdef inline bint at_odds(self, uint128 numerator, uint128 denominator) except -1:
        """True with probability numerator / denominator, a ratio of at most 1; denominators up to 2^119.

        A uniform number is compared with the ratio digit by digit, in base 256, and seldom needs a second digit.
        """
        cdef uint128 lower
        while True:
            lower = denominator * <uint64_t> self.digit()
            numerator <<= 8
            if lower >= numerator:
                return False
            if lower + denominator <= numerator:
                return True
            numerator -= lower

    cdef bint exp_minus_one(self) except -1:
        """True with probability 1 / e."""
        cdef uint64_t k = 2
        while self.at_odds(1, k):
            k += 1
        return k & 1

    cdef bint exp_minus(self, uint128 numerator, uint128 denominator) except -1:
        """True with probability exp(-numerator / denominator), for any ratio; denominators up to 2^100."""
        cdef uint128 multiple = denominator
        cdef bint even = True
        while numerator > denominator:
            if not self.exp_minus_one():
                return False
            numerator -= denominator
        while self.at_odds(numerator, multiple):
            multiple += denominator
            even = not even
        return even

    cdef uint64_t geometric(self, uint64_t scale) except? 0:
        """m >= 0 with probability proportional to exp(-m / scale)."""
        cdef uint64_t remainder = self.below(scale), quotient = 0
        while not self.exp_minus(remainder, scale):
            remainder = self.below(scale)
        while self.exp_minus_one():
            quotient += 1
        return remainder + scale * quotient

    cdef int64_t one_laplace(self, uint64_t scale) except? -1:
        cdef uint64_t magnitude
        while True:
            magnitude = self.geometric(scale)
            if self.below(2):
                if magnitude == 0:
                    continue
                return -<int64_t> magnitude
            return <int64_t> magnitude

    cdef Py_ssize_t entry(self, const uint32_t *table, const uint16_t *starts, Py_ssize_t most, uint32_t *first) \
            except -1:
        """The number of table entries below the first 32 bits of a uniform u; `first` are those bits.

        Where 16 bits decide, no more are drawn and zeros take their place: the 32 bits are then equal to no entry.
        """
        cdef uint32_t bits = <uint32_t> self.digit() << 24
        bits |= <uint32_t> self.digit() << 16
        cdef Py_ssize_t place = starts[bits >> 24]
        while place < most and table[place] < bits:
            place += 1
        if place < most and table[place] >> 16 == bits >> 16:
            bits |= <uint32_t> self.digit() << 8
            bits |= <uint32_t> self.digit()
            while place < most and table[place] < bits:
                place += 1
        first[0] = bits
        return place

    cdef Py_ssize_t strip(self) except -1:
        """q >= 0 with probability proportional to exp(-q^2 / (2 SQUARED_DEVIATION))."""
        cdef uint32_t first
        cdef Py_ssize_t most = self.strips.shape[0]
        cdef Py_ssize_t place = self.entry(&self.strips[0], &self.strip_starts[0], most, &first)
        if place < most and self.strips[place] == first:
            place = self.tied_strip(first)
        return place

    cdef Py_ssize_t tied_strip(self, uint32_t first) except -1:
        """The strip where the first 32 bits of u are those of F_k: as many bits as tell them apart."""
        cdef uint8_t raw[8]
        u, bits = int(first), 32
        while True:
            self.read(raw, 8)
            u, bits = (u << 64) | int.from_bytes(raw[:8], "big"), bits + 64
            bounds = strip_bounds(bits)
            place = bisect_left(bounds, u)
            if bounds[place] != u:
                return place

    cdef int64_t one_gaussian(self, uint64_t variance, uint64_t width) except? -1:
        """A strip of the size, a place in it and a sign; kept with the ratio of the law to the strip's (noise.md)."""
        cdef uint64_t strip, place
        cdef uint128 size, excess
        while True:
            strip = <uint64_t> self.strip()
            place = self.below(2 * width)
            size = <uint128> strip * width + (place >> 1)
            if place & 1 and size == 0:
                continue
            excess = SQUARED_DEVIATION * size * size - <uint128> strip * strip * variance
            if self.exp_minus(excess, <uint128> 2 * SQUARED_DEVIATION * variance):
                return -<int64_t> size if place & 1 else <int64_t> size

    def laplace(self, scale, int64_t[::1] out):
        """Fill `out` with discrete Laplace noise, P[z] proportional to exp(-|z| / scale); 1 <= scale <= 2^50."""
        cdef Py_ssize_t i
        cdef uint64_t units = index(scale)      # a C integer would cut a fraction off, and noise with it
        if not 1 <= units <= (<uint64_t> 1) << 50:
            raise ValueError("scale must be in [1, 2^50]")
        with self.lock_here():
            for i in range(out.shape[0]):
                out[i] = self.one_laplace(units)

    def gaussian(self, variance, int64_t[::1] out):
        """Fill `out` with discrete Gaussian noise, P[z] prop. to exp(-z^2 / (2 variance)); 1 <= variance <= 2^44."""
        cdef Py_ssize_t i
        cdef uint64_t width, units = index(variance)
        if not 1 <= units <= (<uint64_t> 1) << 44:
            raise ValueError("variance must be in [1, 2^44]")
        # The smallest width with SQUARED_DEVIATION * width^2 >= the variance: the ratio above is then at most 1.
        width = isqrt((int(units) - 1) // SQUARED_DEVIATION) + 1
        with self.lock_here():
            if self.strips is None:     # made once for all samplers: the law of a strip is the same for every variance
                self.strips, self.strip_starts = strip_table()
            for i in range(out.shape[0]):
                out[i] = self.one_gaussian(units, width)

    def exponentials(self, int64_t[::1] coarse, int64_t[::1] fine):
        """Exponential numbers E of mean 1: floor(2^40 E), and the next 56 binary digits of each (ideal.md, lemma 2)."""
        cdef Py_ssize_t i
        cdef uint64_t digits
        cdef uint128 one = 1
        if fine.shape[0] != coarse.shape[0]:
            raise ValueError("coarse and fine must have one length")
        with self.lock_here():
            for i in range(coarse.shape[0]):
                coarse[i] = <int64_t> self.geometric((<uint64_t> 1) << 40)
                digits = self.below((<uint64_t> 1) << 56)
                while not self.exp_minus(digits, one << 96):
                    digits = self.below((<uint64_t> 1) << 56)
                fine[i] = <int64_t> digits

    def words(self, uint64_t[::1] out):
        """Fill `out` with uniform 64-bit numbers."""
        cdef Py_ssize_t i
        with self.lock_here():
            for i in range(out.shape[0]):
                out[i] = (self.below((<uint64_t> 1) << 32) << 32) | self.below((<uint64_t> 1) << 32)

    def indices(self, uint64_t rate, const uint32_t[::1] table, const uint16_t[::1] starts, int64_t position,
                int64_t stop, Py_ssize_t[::1] out):
        """Write indices of [position, stop) to `out`, each one in with probability rate / 2^32, independently.

        Returns how many were written and the position reached: `stop` or more, unless `out` is full. The gap before the
        next index is geometric, P[gap >= k] = 1 - F_k = (1 - rate / 2^32)^k, and has no memory, so gaps of at least the
        table's length are drawn piecewise, and a call may go on where another one stopped.

        `table` holds floor(2^32 F_k) for k = 1, 2, ...; `starts` the first place where it is at least b 2^24, for each
        byte b. With u uniform on [0, 1) the gap is the number of F_k <= u.
        """
        cdef uint32_t first
        cdef Py_ssize_t gap, count = 0, room = out.shape[0], most = table.shape[0]
        if not 1 <= rate < (<uint64_t> 1) << 32:
            raise ValueError("rate must be in [1, 2^32)")
        if not 1 <= most <= BUFFER_BYTES // 4 or starts.shape[0] != 256:
            raise ValueError("table must have 1 to 1024 entries, starts must have 256")
        with self.lock_here():
            while position < stop and count < room:
                gap = self.entry(&table[0], &starts[0], most, &first)
                if gap < most and table[gap] == first:
                    gap = self.decide(rate, table, gap, first)
                position += gap
                if gap < most:
                    if position < stop:
                        out[count] = position
                        count += 1
                    position += 1
        return count, position

    cdef Py_ssize_t decide(self, uint64_t rate, const uint32_t[::1] table, Py_ssize_t gap, uint32_t first) except -1:
        """The gap where the first 32 bits of u are those of F_k: as many bits as the exact fractions have."""
        cdef uint8_t raw[BUFFER_BYTES]
        cdef Py_ssize_t most = table.shape[0]
        bits = 32 * most             # F_k is a multiple of 2^(-32 k)
        self.read(raw, 4 * most)
        u = (int(first) << bits) | int.from_bytes(raw[:4 * most], "big")
        one, stays = 1 << (bits + 32), (1 << 32) - int(rate)
        while gap < most and table[gap] == first and one - (stays ** (gap + 1) << (bits - 32 * gap)) <= u:
            gap += 1
        return gap
