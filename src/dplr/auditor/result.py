"""The result of an audit, in words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit import markup
from dplr.auditor.evidence import Evidence
from dplr.auditor.noise import NoiseCheck
from dplr.auditor.twins import Twin
from dplr.privacy.statement import PrivacyStatement

_WIDTH = 100


@dataclass(frozen=True, eq=False, slots=True)
class Audit:
    """An audit of a claim: whether any neighbours were found that tell more than eps allows.

    Attributes
    ----------
    statement : dplr.privacy.PrivacyStatement
        The claim, of a fit to made-up rows.
    n_rows : int
        Records, or persons, of each made-up table.
    pairs, refused : int
        Pairs of neighbours that were fitted, and pairs whose rows a fit refuses.
    runs : int
        Fits of each table of the worst pair.
    exact : float or None
        Privacy loss that the worst pair may have at most, at the claim's delta; None where no formula says it: with
        batches, and with a Gaussian linear term.
    bound : float
        Eps that fits of the worst pair prove, at the claim's delta, with the confidence.
    confidence : float
        Of the verdict, where it is that the claim is wrong.
    worst : tuple of (mapping, mapping or None)
        The record that differs, in both tables; None where nobody is in its place.
    noise : dplr.auditor.NoiseCheck
        Whether the noise of all these fits was drawn as stated.
    scores : tuple of (ndarray, ndarray)
        Log likelihood ratios of fits of both tables; with batches the best linear score.
    has_ratios : bool
        Whether the scores are log likelihood ratios.
    findings : tuple of str
        Sentences on what contradicts the claim; empty where nothing does.
    twins : tuple of dplr.auditor.Twin
        Copies that are broken on purpose, and what the audit says of them; empty unless they were asked for.

    Privacy
    -------
    All rows are made up: an audit reads no private row, and may be published.

    See Also
    --------
    dplr.audit : Makes it.

    Examples
    --------
    >>> import dplr
    >>> audit = dplr.audit(eps=1.0, bounds={"age": (18, 99)}, mechanism="fm", pairs=50, runs=100)
    >>> audit.passed, 0.5 < audit.exact <= 1
    (True, True)
    """

    statement: PrivacyStatement
    n_rows: int
    pairs: int
    refused: int
    runs: int
    exact: float | None
    bound: float
    confidence: float
    worst: tuple[Mapping[str, Any], Mapping[str, Any] | None]
    noise: NoiseCheck
    scores: tuple[NDArray[np.float64], NDArray[np.float64]]
    has_ratios: bool
    findings: tuple[str, ...]
    twins: tuple[Twin, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the claim; it does not prove it."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """One sentence."""
        claim = f"eps = {self.statement.eps:g}"
        if self.findings:
            return f"WRONG: {claim} does not hold; {'; '.join(self.findings)}."
        shown = f"the worst pair shows {self.bound:.3g}"
        if self.exact is not None:
            shown = f"the worst pair loses {self.exact:.3g}"
        return f"Nothing contradicts {claim}: of {self.pairs} pairs of neighbours, {shown}."

    @property
    def _title(self) -> str:
        return f"Audit of {self.statement.mechanism} (dplr {self.statement.version})"

    @property
    def _lines(self) -> list[tuple[str, str]]:
        """Labels and texts, the verdict last."""
        unit = self.statement.unit
        lines = [("claim", f"{self.statement.guarantee}; {self.statement.neighbouring}, of one {unit.one}")]
        refused = f"; {self.refused} more hold rows that a fit refuses" if self.refused else ""
        lines.append(("neighbours", f"{self.pairs} pairs of tables with {self.n_rows} {unit.many}{refused}"))
        exact = "no formula for this noise" if self.exact is None else f"at most {self.exact:.6g}"
        lines.append(("exact loss", f"{exact}, of the worst pair"))
        bound = f"tell them apart by at least eps = {self.bound:.3g}" if self.bound > 0 else "prove no difference"
        lines.append(("fits", f"{self.runs} of each table {bound} (confidence {self.confidence:g})"))
        chances = f"its law p = {self.noise.law:.2g}, independent p = {self.noise.together:.2g}"
        lines.append(("noise", f"{self.noise.numbers} numbers: {chances}, repeated {self.noise.repeated} times"))
        first, second = self.worst
        lines.append(("worst pair", f"{_words(first)} against {'nobody' if second is None else _words(second)}"))
        lines += [("broken", f"{twin.fault}: {_caught(twin)}") for twin in self.twins]
        lines.append(("verdict", self.verdict))
        return lines if self.findings else [*lines, ("", "An audit can prove a promise wrong, never right.")]

    def __str__(self) -> str:
        return "\n".join([self._title, *(_line(name, text) for name, text in self._lines)])

    def _repr_html_(self) -> str:
        """Return the audit for notebooks, a promise that was proved wrong first."""
        wrong = [self.verdict] if self.findings else []
        return markup.piece(self._title, markup.alarms(wrong), markup.facts(self._lines))


def _line(name: str, text: str) -> str:
    filled = textwrap.wrap(text, _WIDTH - 14)
    return "\n".join(f"  {name if not place else '':<12}{part}" for place, part in enumerate(filled))


def _caught(twin: Twin) -> str:
    return f"caught, {twin.findings[0]}" if twin.caught else "NOT SEEN"


def _words(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_short(value)}" for name, value in record.items())


def _short(value: Any) -> str:
    if isinstance(value, float):
        return "missing" if math.isnan(value) else f"{value:g}"
    return str(value)


def audit_of(evidence: Evidence, **facts: Any) -> Audit:
    """An audit from the evidence of its worst pair."""
    ratios = evidence.scores.losses or evidence.scores.learned
    return Audit(
        exact=evidence.exact,
        bound=evidence.bound,
        noise=evidence.noise,
        scores=ratios,
        has_ratios=evidence.scores.losses is not None,
        findings=evidence.findings,
        **facts,
    )
