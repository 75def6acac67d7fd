"""A few thousand random cases at every door, and laws that are red where a door is broken."""

import random

import numpy as np
import pytest
from tests.fuzz import arrays, laws, run

pytestmark = pytest.mark.filterwarnings("ignore")
# Cases of each door in every run, 4,500 in all, and ten times as many in the thorough one.
CASES = {"arrays": 500, "tables": 100, "files": 150, "bounds": 2400, "models": 300, "moments": 500, "ledgers": 150,
         "outboxes": 300, "commands": 100}  # fmt: skip


def test_every_door_has_cases():
    assert set(CASES) == set(run.ENTRIES)
    assert sum(CASES.values()) >= 4_500


@pytest.mark.parametrize("entry", run.ENTRIES)
def test_what_comes_in_is_refused_in_a_sentence_or_means_what_it_says(entry):
    campaign, _ = run.seeded(entry, CASES[entry], 300, show=lambda *_, **__: None)
    assert campaign.findings == []
    assert campaign.counts[laws.ACCEPTED] > 0
    assert campaign.counts[laws.REFUSED] > 0


@pytest.mark.thorough
@pytest.mark.parametrize("entry", run.ENTRIES)
def test_many_more_cases(entry):
    campaign, _ = run.seeded(entry, 10 * CASES[entry], 600, first=CASES[entry], show=lambda *_, **__: None)
    assert campaign.findings == []


@pytest.mark.parametrize("error", [
    KeyError("x"), AttributeError("x"), IndexError("x"), RecursionError("x"), AssertionError("`x` must be 1."),
    UnicodeDecodeError("utf-8", b"", 0, 1, "`x` must be text."), ValueError("no parameter"), ZeroDivisionError("`x`."),
])  # fmt: skip
def test_what_is_no_proper_refusal_is_found(error):
    def call():
        raise error

    with pytest.raises(laws.Finding):
        laws.attempt(call)


def test_a_proper_refusal_is_none():
    def call():
        raise ValueError("`eps` must be positive; got -1.0.")

    assert laws.attempt(call) == (laws.REFUSED, None)


def test_a_fit_that_misreads_its_rows_is_found(monkeypatch):
    """A door that read every float32 as another number would be seen within the cases of every run."""
    door, real = arrays.Door("."), arrays.dplr.fit

    def misread(X, y, **options):
        wrong = X + np.float32(0.25) if getattr(X, "dtype", None) == np.float32 else X
        return real(wrong, y, **options)

    monkeypatch.setattr(arrays.dplr, "fit", misread)
    campaign = laws.Campaign(door)
    for number in range(CASES["arrays"]):
        campaign.attack(random.Random(f"arrays {number}"), number)
    assert any("other bits" in complaint for _, complaint in campaign.findings)


def test_bytes_of_a_fuzzer_are_a_random_generator_that_never_ends():
    rng = laws.Bytes(bytes(range(50)))
    assert [rng.randrange(10) for _ in range(100)].count(0) >= 50
    assert 0 <= rng.random() < 1
