"""Copies of a fit that are broken on purpose: an audit that does not see them shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dplr._kit.progress import Track
from dplr.auditor.evidence import evidence_of
from dplr.auditor.trace import Draw, Tracing
from dplr.auditor.trial import Duel, Trial
from dplr.noise import Ints
from dplr.privacy.statement import PrivacyStatement


class _Halved(Tracing):
    """Half of the noise."""

    def _faulty(self, noise: Ints) -> Ints:
        return noise // 2


class _OneForAll(Tracing):
    """One number of noise for all numbers of a block."""

    def _faulty(self, noise: Ints) -> Ints:
        shared = noise.copy()
        shared[:] = noise[0]
        return shared


class _FirstMissing(Tracing):
    """No noise in the first block."""

    def _faulty(self, noise: Ints) -> Ints:
        return noise * 0 if not self.draws else noise.copy()


class _Repeated(Tracing):
    """Noise that every fit repeats."""

    def __init__(self, seed: int, script: Sequence[Draw] | None = None) -> None:
        super().__init__(0, script)


@dataclass(frozen=True, slots=True)
class Twin:
    """A broken copy, and what the audit says of it.

    Attributes
    ----------
    fault : str
        The fault.
    findings : tuple of str
        Sentences on what contradicts the claim; empty where the audit did not see it.

    Privacy
    -------
    Of fits of made-up rows: free to publish.

    See Also
    --------
    dplr.audit : Audits broken copies with ``broken=True``.

    Examples
    --------
    >>> from dplr.auditor import Twin
    >>> Twin("half of the noise", ("the noise does not have its law",)).caught
    True
    """

    fault: str
    findings: tuple[str, ...]

    @property
    def caught(self) -> bool:
        """Whether the audit saw it."""
        return bool(self.findings)


SOURCES: dict[str, type[Tracing]] = {
    "the noise is half as large as it was asked for": _Halved,
    "one draw serves all numbers of a block": _OneForAll,
    "the first block has no noise": _FirstMissing,
    "every fit draws the same noise": _Repeated,
}


def twins_of(
    duel: Duel, claim: PrivacyStatement, runs: int, confidence: float, seed: int, track: Track
) -> tuple[Twin, ...]:
    """Every broken copy that this configuration can have, audited on the worst pair."""
    trial, pair = duel.trial, duel.pair
    broken: dict[str, tuple[Trial, Any]] = {
        fault: (replace(trial, source=source), pair) for fault, source in SOURCES.items()
    }
    broken["the noise is planned for twice the eps"] = replace(trial, eps=2 * trial.eps), pair
    if trial.persons:
        most = 4 * (1 if trial.bounds is None else trial.bounds.rows_per_person)
        second = None if pair.second is None else replace(pair.second, rows=most)
        of_rows = replace(pair, first=replace(pair.first, rows=most), second=second)
        broken["rows of a person count as if each were a person"] = replace(trial, splits_persons=True), of_rows
    twins = []
    for fault, (trial_of_fault, pair_of_fault) in broken.items():
        evidence = evidence_of(Duel(trial_of_fault, pair_of_fault), claim, runs, confidence, seed, track)
        twins.append(Twin(fault, evidence.findings))
    return tuple(twins)
