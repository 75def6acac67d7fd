"""The quickest witness there is: the test of the runner runs it on copies. It is no part of the suite."""

from dplr.privacy import sensitivity


def test_ranges_count_their_records():
    assert sensitivity.ranges_add_remove(2, 0.5) == 2.5
