"""Released moments of disjoint parties as one: numbers and noise variances add."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dplr._kit.validation import sentence
from dplr.fitting.planning import rows_sentence
from dplr.moments import ABOUT
from dplr.moments.released import Party, ReleasedMoments
from dplr.privacy.guarantees import Approx, Gaussian, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release

DISJOINT = "every person is in the rows of one party only"


def merged(releases: Sequence[ReleasedMoments]) -> ReleasedMoments:
    """One release of all parties; refused where they do not fit together."""
    first = releases[0]
    for release in releases[1:]:
        _check_alike(first, release)
    parties = tuple(party for release in releases for party in release.parties)
    check_different(parties)
    # Multiples of powers of two: the sums are exact up to 2^53 of the finest of them.
    numbers = {
        name: sum((release.released_[name] for release in releases[1:]), values)
        for name, values in first.released_.items()
    }
    return ReleasedMoments(first.bounds, first.layout, first.neighbouring, numbers, parties)


def _check_alike(first: ReleasedMoments, release: object) -> None:
    """Refuse what counts rows in another way."""
    if not isinstance(release, ReleasedMoments):
        raise TypeError(sentence("others", "must be released moments", type(release).__name__))
    if release.neighbouring != first.neighbouring:
        raise ValueError(
            sentence("others", f"must be under {str(first.neighbouring)!r} too", str(release.neighbouring))
        )
    if (release.bounds, release.layout) != (first.bounds, first.layout):
        got = "other bounds, names of columns, or their order"
        remedy = "All parties release the same columns with one bounds file."
        raise ValueError(sentence("others", "must have the same bounds", got, remedy))


def check_different(parties: Sequence[Party]) -> None:
    """Refuse what is there twice."""
    names = [party.name for party in parties if party.name is not None]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if len({party.digest for party in parties}) < len(parties):
        rule = "must be of different rows; a release must not be merged with itself"
        raise ValueError(sentence("others", rule, "one release twice", "Leave the second one out."))
    if twice:
        remedy = "People who are in two releases are not protected as the statement would say."
        raise ValueError(sentence("others", "must be of different parties", f"{twice[0]!r} twice", remedy))


def merged_statement(parties: Sequence[Party]) -> PrivacyStatement:
    """The promise to a person, whichever party their record is with (moments.md, theorem 3)."""
    statements = [party.statement for party in parties]
    first = statements[0]
    eps, delta = max(statement.eps for statement in statements), max(statement.delta for statement in statements)
    counts = [party.n_rows for party in parties]
    rows = [] if None in counts else [rows_sentence(sum(filter(None, counts)), first.neighbouring)]
    facts = dict.fromkeys(fact for party in parties for fact in _facts(party))
    words = "; ".join(_party_words(party, k) for k, party in enumerate(parties, 1))
    named = dict.fromkeys(statement.calibration for statement in statements)
    return PrivacyStatement(
        mechanism=ABOUT.name,
        eps=eps,
        delta=delta,
        guarantee=_guarantee(statements, eps, delta),
        neighbouring=first.neighbouring,
        released={name: _block([statement.released[name] for statement in statements]) for name in first.released},
        calibration=f"the noise of {len(parties)} releases: {'; '.join(named)}",
        assumptions=(*facts, *rows, f"merged: {words}", DISJOINT),
        arithmetic=ABOUT.arithmetic,
        reproducible=any(statement.reproducible for statement in statements),
        source=f"{first.source}, and theorem 3",
        uncovered=tuple(dict.fromkeys(fact for statement in statements for fact in statement.uncovered)),
    )


def _guarantee(statements: Sequence[PrivacyStatement], eps: float, delta: float) -> Pure | Gaussian | Approx:
    """The weakest of the parties' promises, as one that covers all."""
    promises = [statement.guarantee for statement in statements]
    if math.isinf(eps) or all(isinstance(promise, Pure) for promise in promises):
        return Pure(eps)
    if all(isinstance(promise, Gaussian) for promise in promises):
        return Gaussian(max(promise.mu for promise in promises if isinstance(promise, Gaussian)))
    return Approx(eps, delta)


def _block(blocks: Sequence[Release]) -> Release:
    """A sum of noises, of a known variance."""
    laws = {block.law for block in blocks if block.scale}
    deviation = math.sqrt(sum(block.deviation**2 for block in blocks))
    return Release(
        blocks[0].shape,
        max(block.sensitivity for block in blocks),
        Law.of_sum(laws),
        math.sqrt(sum(block.scale**2 for block in blocks)),
        min(block.grid for block in blocks),
        max(block.weight for block in blocks),
        spread=deviation,
    )


def _facts(party: Party) -> list[str]:
    """The assumptions of a party's statement, except its number of rows."""
    rows = None if party.n_rows is None else rows_sentence(party.n_rows, party.statement.neighbouring)
    return [fact for fact in party.statement.assumptions if fact != rows]


def _party_words(party: Party, place: int) -> str:
    name = party.name if party.name is not None else f"party {place}"
    rows = "" if party.n_rows is None else f", {party.n_rows} rows"
    return f"{name} (eps = {party.statement.eps:g}, delta = {party.statement.delta:g}{rows})"
