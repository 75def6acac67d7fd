"""Copies of the package that break one promise of recovery.md: the tests of that promise are red on them."""

import pathlib

import pytest

from broken_copies import assert_breakable, assert_red

HERE = pathlib.Path(__file__).parent
ORDERS = str(HERE / "test_interleavings.py")
STORY = str(HERE.parent / "fitting" / "test_fit_story.py") + "::"
OUTBOX = str(HERE / "test_outbox.py") + "::"
LOST = STORY + "test_a_reservation_that_was_lost_draws_no_noise_and_is_not_given_back"
NOISE = "noise/__init__.py"
TRANSACTIONS, RECOVERY = "ledger/transactions.py", "ledger/recovery.py"
DRAW = "SET state = 'drawing' WHERE reservation = ? AND state = 'reserved'"
AGAIN = ("ledger/file.py", "OLD.state = 'drawing' AND NEW.state = 'committed')",
         "OLD.state = 'drawing' AND NEW.state IN ('drawing', 'committed'))")  # fmt: skip
# What is broken -> (file, line, broken line) of all changes, the test that is red, and what it says.
BROKEN = {
    "the ledger is told after the draw": (
        [
            (
                NOISE,
                "self._sampler.laplace(scale, out)",
                "self._unasked.laplace(scale, out); self._sampler",
            )
        ],
        LOST,
        "assert",
    ),
    "a refusal is told once": (
        [
            (
                NOISE,
                "                self._waiting[0]()\n                self._waiting.pop(0)",
                "                self._waiting.pop(0)()",
            )
        ],
        LOST,
        "DID NOT RAISE",
    ),
    "what is drawing is given back": (
        [
            (TRANSACTIONS, "state IN ('set aside', 'reserved')\"", "state IN ('set aside', 'reserved', 'drawing')\""),
            (RECOVERY, 'in ("reserved", "set aside")', 'in ("reserved", "set aside", "drawing")'),
            ("ledger/file.py", "'drawing' AND NEW.state = 'committed')", "'drawing' AND NEW.state <> 'reserved')"),
        ],
        ORDERS,
        "given back after noise",
    ),
    "whoever comes draws": (
        [(TRANSACTIONS, DRAW, DRAW.replace("= 'reserved'", "IN ('reserved', 'drawing')")), AGAIN],
        ORDERS,
        r"\['[AB]', '[AB]'\] drew",
    ),
    "the release is kept in a step of its own": (
        [
            (
                "ledger/reservation.py",
                "            if outbox is not None:\n                transactions.keep",
                "        with self._opened.writing('') as (connection, _):\n            transactions.keep",
            )
        ],
        OUTBOX + "test_a_crash_inside_the_commit_leaves_neither",
        "assert",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_lines_to_be_broken_are_those_of_the_package(name):
    assert_breakable(BROKEN[name][0])


@pytest.mark.thorough
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_copy_is_seen(tmp_path, name):
    assert_red(tmp_path, *BROKEN[name])
