"""Rows and quotes of CSV text, in one pass over its bytes.

A quote may open a field, close it, or stand doubled inside it. A row ends at \\n, \\r or \\r\\n outside a field that is
quoted. The scan goes on where it stopped: `state` says what the bytes before it leave open.
"""
from libc.stdint cimport uint8_t

cdef enum:
    START = 0    # at the start of a field
    PLAIN = 1    # in a field without quotes
    QUOTED = 2   # in a field with quotes
    CLOSED = 3   # after a quote in such a field: the next byte says whether it closed the field
    RETURNED = 4   # after \r, which ended a row; \n may follow


def scan_rows(const uint8_t[::1] data, Py_ssize_t start, int state, int delimiter):
    """Read data[start:] -> (state, row, fault).

    `row` is the place where the last row begins, or -1 if none begins after `start`; rows before it are whole. `fault`
    is the place of the first quote, or byte after a quote, that is not allowed, or -1; the scan ends there.
    """
    cdef Py_ssize_t place, row = -1, fault = -1, n = data.shape[0]
    cdef uint8_t byte
    if not 0 <= start <= n or not START <= state <= RETURNED:
        raise ValueError("start must lie in the data, and state must be a state of the scan")
    with nogil:
        for place in range(start, n):
            byte = data[place]
            if state == QUOTED:
                if byte == 34:
                    state = CLOSED
                continue
            if state == RETURNED:
                state = START
                row = place + 1 if byte == 10 else place
                if byte == 10:
                    continue
            if byte == 34:
                if state == PLAIN:
                    fault = place
                    break
                state = QUOTED
            elif byte == delimiter:
                state = START
            elif byte == 10:
                state = START
                row = place + 1
            elif byte == 13:
                state = RETURNED
            elif state == CLOSED:
                fault = place
                break
            else:
                state = PLAIN
    return state, row, fault
