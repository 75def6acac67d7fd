"""Hashes of integers and of texts."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


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
        return low | <uint64_t> high << 8 * (size - 4)
    return text[0] | <uint64_t> text[size // 2] << 8 * (size // 2) | <uint64_t> text[size - 1] << 8 * (size - 1)


cdef inline uint64_t hash_of_text(const uint8_t *text, size_t size) noexcept nogil:
    """Of any bytes; 0 for none."""
    cdef uint64_t found = size, word = 0
    while size >= 8:
        memcpy(&word, text, 8)
        found = mixed(found ^ word)
        text += 8
        size -= 8
    return mixed(found ^ last_word(text, size)) if size else found
