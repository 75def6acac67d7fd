"""The evidence against a claim: the exact loss of the worst pair, its fits told apart, and the noise that was drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dplr._kit.progress import Track
from dplr.auditor.noise import NoiseCheck, check_noise
from dplr.auditor.scores import Scores, lower_bound, scores_of
from dplr.auditor.trace import NoiseDiffers, ReleaseDiffers
from dplr.auditor.trial import Duel
from dplr.auditor.worst import eps_of
from dplr.privacy.statement import PrivacyStatement

_ROUNDING = 1e-9  # of an exact loss, in parts of eps


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """Findings of fits of two neighbours against a claim.

    Attributes
    ----------
    exact : the privacy loss that the pair may have at most; None where no formula says it.
    bound : the eps that scores of fits prove.
    scores : of these fits.
    noise : whether it was drawn as stated.
    findings : sentences on what contradicts the claim; empty where nothing does.
    """

    exact: float | None
    bound: float
    scores: Scores
    noise: NoiseCheck
    findings: tuple[str, ...]


def evidence_of(duel: Duel, claim: PrivacyStatement, runs: int, confidence: float, seed: int, track: Track) -> Evidence:
    """The evidence of a pair against a claim, from so many fits of each table.

    Where neighbours draw other noise, or release more than noisy sums, the loss has no bound and that is the evidence.
    """
    try:
        run = duel.run(0, seed)
        exact = None if run.sampled or duel.has_gaussian_objective else eps_of(duel.exact(run), claim.delta)
        scores, draws = scores_of(duel, runs, seed + 1, track)
    except (NoiseDiffers, ReleaseDiffers) as error:
        none = np.zeros(0)
        return Evidence(math.inf, 0.0, Scores(None, (none, none)), check_noise([], seed), (str(error),))
    noise, bound = check_noise(draws, seed), lower_bound(scores, claim, 1 - (1 - confidence) / 2)
    findings = noise.findings((1 - confidence) / 2)
    if exact is not None and exact > claim.eps * (1 + _ROUNDING):
        findings.insert(0, f"a pair of neighbours loses {exact:.4g}, exactly")
    if bound > claim.eps:
        findings.append(f"fits of neighbours are told apart by {bound:.4g}")
    return Evidence(exact, bound, scores, noise, tuple(findings))
