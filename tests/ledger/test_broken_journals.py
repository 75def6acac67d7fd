"""Copies of the package that break one promise of a journal: the tests of that promise are red on them."""

import pathlib

import pytest

from broken_copies import assert_breakable, assert_red

HERE = pathlib.Path(__file__).parent
ORDERS = str(HERE / "test_journal_interleavings.py") + (
    "::test_no_noise_is_drawn_twice_whoever_dies_sleeps_or_goes_on["
)
FITTING = HERE.parent / "fitting"
NOISE, SUMS = (str(FITTING / f"test_resumed_{name}.py") + "::test_" for name in ("noise", "sums"))
ORDER = NOISE + "every_draw_is_announced_before_it_and_recorded_after_it"
ANYWHERE = NOISE + "killed_anywhere_a_fit_goes_on_with_its_noise_unless_a_draw_was_lost[raw-memory]"
LEFT = SUMS + "a_resumed_fit_reads_what_is_left_and_has_the_bits_of_one_that_never_stopped[1-fm]"
RECORDING, FINISHED, NOISE_FILE = "ledger/recording.py", "rows/streams/finished.py", "noise/__init__.py"
# What is broken -> (file, line, broken line) of all changes, the test that is red, and what it says.
BROKEN = {
    "a sum is used that is not recorded": (
        [(NOISE_FILE, "        recorder.record(sum_key(number), numbers_as_bytes(about, value))\n", "")],
        ORDER,
        "assert",
    ),
    "a draw is not recorded": (
        [(NOISE_FILE, "        recorder.record(draw_key(number), about.encode())\n", "")],
        ANYWHERE,
        "assert",
    ),
    "a draw without its sum is drawn again": (
        [
            (
                RECORDING,
                "if (sum_ := sum_of_draw(key)) is not None and",
                "if (sum_ := sum_of_draw(key)) is not None and False and",
            )
        ],
        ORDERS + "one dies, and another gives back-False]",
        "assert",
    ),
    "the journal of another driver is taken": (
        [(RECORDING, 'if f"{_HOLDER} {holder}" not in keys', "if False")],
        ORDERS + "two die-False]",
        "noise 1 was drawn by",
    ),
    "noise is drawn behind a journal": (
        [(NOISE_FILE, "        recorder.end()\n", "")],
        SUMS + "the_journal_is_gone_before_noise_is_drawn",
        "assert",
    ),
    "a write that failed gives the lock up": (
        [("ledger/journal.py", "self._broken = True", "self.close()")],
        str(HERE / "test_journal.py") + "::test_nothing_follows_a_record_that_may_not_be_on_the_disk",
        "DID NOT RAISE",
    ),
    "noise about other sums is used": (
        [("_kit/recorder.py", 'if record["about"] != about', "if False")],
        NOISE + "other_parameters_do_not_use_its_noise",
        "DID NOT RAISE",
    ),
    "noise about other columns is used": (
        [(NOISE_FILE, "digest(self._subject, about)", 'digest("", about)')],
        NOISE + "noise_about_other_columns_is_not_used",
        "DID NOT RAISE",
    ),
    "a part is added twice": (
        [(FINISHED, "job.merge(state, fresh), job.zero(), place\n", "job.merge(state, fresh), fresh, place\n")],
        LEFT,
        "assert|must stay as it is",
    ),
    "a part of another file is accepted": (
        [(FINISHED, ", parts.identity)", ")")],
        SUMS + "parts_that_changed_are_read_again",
        "assert",
    ),
    "a journal is left after the commit": (
        [
            ("ledger/reservation.py", "                self.recorder.end()\n", "                pass\n"),
            ("ledger/reservation.py", "            remove_journal(self._opened.path, self.token)\n", ""),
        ],
        ANYWHERE,
        r"\.fit-",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_lines_to_be_broken_are_those_of_the_package(name):
    assert_breakable(BROKEN[name][0])


@pytest.mark.thorough
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_journal_is_seen(tmp_path, name):
    assert_red(tmp_path, *BROKEN[name])
