"""Exact integer noise from random bytes: discrete Laplace and discrete Gaussian (Canonne, Kamath and Steinke 2020).

And exact Poisson batches. Only integer arithmetic on uniform bits: no floating-point number or logarithm enters a
probability, and a table of rounded ones decides only where the rounding cannot matter. The samplers reject, so their
running time depends on the noise drawn (never on the data): see docs/attack-model.md.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    typedef unsigned __int128 dplr_uint128;
    """
    ctypedef unsigned long long uint128 "dplr_uint128"

cdef enum:
    BUFFER_BYTES = 4096


cdef class IntegerSampler:
    """Draws integer noise from `refill(n_bytes) -> bytes`. Holds unread random bytes: no copy, no pickle.

    `drawn` counts the bytes used.
    """

    cdef uint8_t buffer[BUFFER_BYTES]
    cdef Py_ssize_t position
    cdef object refill
    cdef readonly int64_t drawn

    def __init__(self, refill):
        self.refill = refill
        self.position = BUFFER_BYTES
        self.drawn = 0

    def __reduce_ex__(self, protocol):
        raise TypeError("IntegerSampler holds secret random bytes: it cannot be copied or pickled")

    def forget(self):
        """Wipe and drop unread bytes, so that a forked child never reuses its parent's."""
        memset(self.buffer, 0, BUFFER_BYTES)
        self.position = BUFFER_BYTES

    cdef int fill(self) except -1:
        cdef const uint8_t[::1] fresh = self.refill(BUFFER_BYTES)
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
        """Uniform on {0, …, bound - 1} by rejection from the next power of two."""
        cdef uint64_t mask = bound - 1, value
        cdef Py_ssize_t size = 0, _i
        mask |= mask >> 1
        mask |= mask >> 2
        mask |= mask >> 4
        mask |= mask >> 8
        mask |= mask >> 16
        mask |= mask >> 32
        while size < 8 and (mask >> (8 * size)) != 0:
            size += 1
        while True:
            value = 0
            for _i in range(size):      # byte by byte: the same on every byte order
                value = (value << 8) | <uint64_t> self.digit()
            value &= mask
            if value < bound:
                return value

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

    cdef int64_t one_laplace(self, uint64_t scale) except? -1:
        cdef uint64_t remainder, quotient, magnitude
        while True:
            remainder = self.below(scale)
            if not self.exp_minus(remainder, scale):
                continue
            quotient = 0
            while self.exp_minus_one():
                quotient += 1
            magnitude = remainder + scale * quotient
            if self.below(2):
                if magnitude == 0:
                    continue
                return -<int64_t> magnitude
            return <int64_t> magnitude

    cdef int64_t one_gaussian(self, uint64_t variance, uint64_t scale) except? -1:
        cdef int64_t candidate
        cdef uint128 product, gap
        while True:
            candidate = self.one_laplace(scale)
            product = <uint128> (candidate if candidate >= 0 else -candidate) * scale
            if product > variance:
                gap = product - variance
            else:
                gap = variance - product
            # Accept with exp(-(|y| - variance / scale)^2 / (2 variance)). Leaving out gaps from 2^63 on keeps the
            # square within 128 bits and changes the law by less than exp(-2^36).
            if (gap >> 63) == 0 and self.exp_minus(gap * gap, <uint128> 2 * variance * scale * scale):
                return candidate

    def laplace(self, uint64_t scale, int64_t[::1] out):
        """Fill `out` with discrete Laplace noise, P[z] proportional to exp(-|z| / scale); 1 <= scale <= 2^40."""
        cdef Py_ssize_t i
        if not 1 <= scale <= (<uint64_t> 1) << 40:
            raise ValueError("scale must be in [1, 2^40]")
        for i in range(out.shape[0]):
            out[i] = self.one_laplace(scale)

    def gaussian(self, uint64_t variance, int64_t[::1] out):
        """Fill `out` with discrete Gaussian noise, P[z] prop. to exp(-z^2 / (2 variance)); 1 <= variance <= 2^44."""
        cdef Py_ssize_t i
        cdef uint64_t scale
        if not 1 <= variance <= (<uint64_t> 1) << 44:
            raise ValueError("variance must be in [1, 2^44]")
        # Any scale gives the same law. The power of two nearest to the deviation draws a remainder without rejection.
        scale = <uint64_t> 1 << (int(variance).bit_length() >> 1)
        for i in range(out.shape[0]):
            out[i] = self.one_gaussian(variance, scale)

    def indices(self, uint64_t rate, const uint32_t[::1] table, const uint16_t[::1] starts, int64_t position,
                int64_t stop, Py_ssize_t[::1] out):
        """Write indices of [position, stop) to `out`, each one in with probability rate / 2^32, independently.

        Returns how many were written and the position reached: `stop` or more, unless `out` is full. The gap before the
        next index is geometric, P[gap >= k] = 1 - F_k = (1 - rate / 2^32)^k, and has no memory, so gaps of at least the
        table's length are drawn piecewise, and a call may go on where another one stopped.

        `table` holds floor(2^32 F_k) for k = 1, 2, ...; `starts` the first place where it is at least b 2^24, for each
        byte b. With u uniform on [0, 1) the gap is the number of F_k <= u.
        """
        cdef uint8_t raw[4]
        cdef uint32_t first
        cdef Py_ssize_t gap, count = 0, room = out.shape[0], most = table.shape[0]
        if not 1 <= rate < (<uint64_t> 1) << 32:
            raise ValueError("rate must be in [1, 2^32)")
        if not 1 <= most <= BUFFER_BYTES // 4 or starts.shape[0] != 256:
            raise ValueError("table must have 1 to 1024 entries, starts must have 256")
        while position < stop and count < room:
            self.read(raw, 4)
            first = (<uint32_t> raw[0] << 24) | (<uint32_t> raw[1] << 16) | (<uint32_t> raw[2] << 8) | raw[3]
            gap = starts[raw[0]]
            while gap < most and table[gap] < first:
                gap += 1
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
