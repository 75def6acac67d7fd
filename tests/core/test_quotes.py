"""Rows and quotes of CSV text: one pass over bytes, against a regular expression of whole rows."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplr._core import scan_rows

TEXTS = st.text('"",\n\rab', max_size=24).map(str.encode)
FIELD = rb'(?:[^",\r\n]*|"(?:[^"]|"")*")'
ROW = re.compile(rb"%b(?:,%b)*(?:\r\n|\r|\n|\Z)" % (FIELD, FIELD))
START, QUOTED, RETURNED = 0, 2, 4


def by_rows(text):
    """(where the last row begins that is not known to be whole, whether the quotes are sound)."""
    place = 0
    while place < len(text):
        match = ROW.match(text, place)
        if not match:
            return place, False
        if match.end() == len(text) and not text.endswith(b"\n"):
            return place, True  # the next byte may belong to it
        place = match.end()
    return place, True


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_the_last_row_begins_where_a_pattern_of_whole_rows_says_and_quotes_are_sound_alike(text):
    state, row, fault = scan_rows(text, 0, START, ord(","))
    begins, sound = by_rows(text)
    assert (fault < 0 and state != QUOTED) is sound
    assert max(row, 0) == begins


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 24)))
def test_a_scan_that_stops_anywhere_goes_on_as_if_it_had_not(text, stops):
    state, row, fault, start = START, -1, -1, 0
    for stop in [*sorted(each for each in stops if each <= len(text)), len(text)]:
        state, later, fault = scan_rows(text[:stop], start, state, ord(","))
        row, start = max(row, later), stop
        if fault >= 0:
            break
    assert (state, row, fault) == scan_rows(text, 0, START, ord(","))


def test_the_first_byte_that_must_not_be_there_is_named():
    for text, place in ((b'a"b', 1), (b'a,"b"c', 5), (b'"a" ,b', 3), (b'x\n"a""b"c', 8), (b'"a"b"', 3)):
        assert scan_rows(text, 0, START, ord(","))[2] == place
    assert scan_rows(b'a;"b"', 0, START, ord(";"))[2] == -1


def test_a_return_may_be_half_of_a_line_end():
    assert scan_rows(b"a\r", 0, START, 44) == (RETURNED, -1, -1)
    assert scan_rows(b"a\r\n", 2, RETURNED, 44) == (START, 3, -1)
    assert scan_rows(b"a\rb", 2, RETURNED, 44)[1:] == (2, -1)


@pytest.mark.parametrize(("start", "state"), [(-1, 0), (4, 0), (0, -1), (0, 5)])
def test_starts_outside_the_data_and_unknown_states_are_refused(start, state):
    with pytest.raises(ValueError, match="start must lie in the data, and state must be a state of the scan"):
        scan_rows(b"abc", start, state, 44)
