"""Hashes of integers and of texts."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define LITTLE_32(word) __builtin_bswap32(word)
    #define LITTLE_64(word) __builtin_bswap64(word)
    #else
    #define LITTLE_32(word) (word)
    #define LITTLE_64(word) (word)
    #endif
    """
    # Words whose first byte in memory is the lowest, on every processor.
    uint32_t LITTLE_32(uint32_t word) noexcept nogil
    uint64_t LITTLE_64(uint64_t word) noexcept nogil


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """One to one: integers have equal hashes where they are equal, and nowhere else."""
    cdef uint64_t odd = 0x9E3779B97F4A7C15   # 2^64 over the golden ratio
    x = (x ^ (x >> 32)) * odd
    x = (x ^ (x >> 29)) * odd
    return x ^ (x >> 32)


cdef inline uint64_t last_word(const uint8_t *text, size_t size) noexcept nogil:
    """From 1 to 7 bytes as one word, without a call."""
    cdef uint32_t low = 0, high = 0
    if size >= 4:
        memcpy(&low, text, 4)
        memcpy(&high, text + size - 4, 4)
        return LITTLE_32(low) | <uint64_t> LITTLE_32(high) << 8 * (size - 4)
    return text[0] | <uint64_t> text[size // 2] << 8 * (size // 2) | <uint64_t> text[size - 1] << 8 * (size - 1)


cdef inline uint64_t hash_of_text(const uint8_t *text, size_t size) noexcept nogil:
    """Of any bytes; 0 for none."""
    cdef uint64_t found = size, word = 0
    while size >= 8:
        memcpy(&word, text, 8)
        found = mixed(found ^ LITTLE_64(word))
        text += 8
        size -= 8
    return mixed(found ^ last_word(text, size)) if size else found
