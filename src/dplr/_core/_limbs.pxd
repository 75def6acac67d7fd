from libc.stdint cimport int64_t

from dplr._core._tiles cimport LOW_LIMB


cdef inline void add_limbs(double value, int64_t *hi, int64_t *lo) noexcept nogil:
    """Add an exact block sum, at most 2^53, to two limbs: value = hi * 2^32 + lo with 0 <= lo < 2^32."""
    cdef int64_t v = <int64_t> value
    cdef int64_t low = lo[0] + (v & LOW_LIMB)
    hi[0] += (v >> 32) + (low >> 32)
    lo[0] = low & LOW_LIMB
