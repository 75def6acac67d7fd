"""From public facts and rows to a release: one model, or one for each class against the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track
from dplr.bounds.declared import Bounds
from dplr.bounds.fourier import FourierMap
from dplr.bounds.scaling import Prep
from dplr.fitting import run as fitting
from dplr.fitting.data import Data, Memory
from dplr.fitting.history import read_history
from dplr.fitting.one_vs_rest import ReleasePlan
from dplr.fitting.planning import PublicFacts
from dplr.fitting.ranges import intervals as ranges_of
from dplr.ledger.budget import Budget
from dplr.mechanisms.perturbation.ridge import without_pull
from dplr.mechanisms.protocol import Mechanism
from dplr.noise import Source
from dplr.privacy.statement import MOVED, PrivacyStatement
from dplr.problem.fit import Fit, History
from dplr.problem.link import LOGIT, Link
from dplr.problem.plan import Plan
from dplr.rows import BoundsNotice, FaultyRows, Labels, Rows
from dplr.rows.exact import Moments


@dataclass(frozen=True, eq=False, slots=True)
class FitInput:
    """Rows before a fit.

    Attributes
    ----------
    data : the rows, which are counted.
    facts : their public facts.
    """

    data: Data
    facts: PublicFacts

    @property
    def memory(self) -> Memory:
        """The rows of a search or a baseline, which streams are refused for."""
        assert isinstance(self.data, Memory)
        return self.data

    def take(self, indices: NDArray[np.intp], n_rows: int | None) -> FitInput:
        """Some of the rows, and how many of them are public."""
        return FitInput(self.memory.take(indices), replace(self.facts, n_rows=n_rows))

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Tell the data holder what faulty rows hold."""
        try:
            yield
        except FaultyRows as error:
            raise ValueError(self.data.explained(error)) from None


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """The record of a release in a fitted model: all that further models, files and predictions need.

    Attributes
    ----------
    mechanism : the mechanism of the release.
    plan : the plan of each fit; with more than two classes its statement is that of one class alone.
    prep : the map from raw rows to scaled rows, and of coefficients back.
    parts : block name -> noisy numbers, of each model; the same mapping for all where they share one release.
    ranges : block name -> noisy numbers, of the ranges that were released before; empty for none.
    bounds : that were declared of the columns of the table; None for none.
    features : the map that made the rows; None where the table has them.
    link : from margins to log odds, where labels have probabilities.
    """

    mechanism: Mechanism
    plan: Plan
    prep: Prep
    parts: Sequence[Mapping[str, NDArray[np.float64]]]
    ranges: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    bounds: Bounds | None = None
    features: FourierMap | None = None
    link: Link = LOGIT


@dataclass(frozen=True, eq=False, slots=True)
class FittedRelease:
    """One release under one statement: its record, and the coefficients and the history of each model.

    `coefs` are as they were released; `models`, which are made of them, are those of predictions.
    """

    record: Record
    statement: PrivacyStatement
    coefs: Sequence[NDArray[np.float64]]
    histories: Sequence[History | None]
    models: Sequence[NDArray[np.float64]]

    @property
    def size(self) -> int:
        """How many numbers a file of it holds, with noise or made of some."""
        blocks = {id(part): part for part in (*self.record.parts, self.record.ranges)}
        sizes = [np.size(block) for part in blocks.values() for block in part.values()]
        sizes += [np.size(coef) for coef in self.coefs]
        sizes += [np.size(history.coefs) + 2 * len(history.coefs) for history in self.histories if history is not None]
        return sum(sizes)


def release(
    ready: FitInput,
    planned: Sequence[ReleasePlan],
    ledger: Budget,
    source: Source,
    track: Track,
    keep: Callable[[list[FittedRelease]], bytes | None] | None = None,
) -> list[FittedRelease]:
    """One release for each plan of the facts, all done and paid for when this returns; `keep` makes a file of them."""
    ready.data.check_plans([entry.plan for entry in planned])
    notice = BoundsNotice()
    # Faults of the columns are raised here, before anything is reserved.
    every = ready.data.rows(ready.facts.prep, None, notice)

    def models(position: int | None) -> Rows:
        return every if position is None else ready.data.rows(ready.facts.prep, position, notice)

    releases: list[FittedRelease] = []

    def finish(done: list[tuple[PrivacyStatement, fitting.Outcome]]) -> bytes | None:
        for plan, (statement, outcome) in zip(planned, done, strict=True):
            releases.append(_released(ready.facts, ready.data.labels, plan, statement, outcome))
        return None if keep is None else keep(releases)

    ready.data.warn_narrow(ready.facts.prep)  # before anything is reserved: a warning may be an error
    fitting.run(models, planned, len(ready.facts.model_labels), ledger, source, track, finish)
    return releases


def blank(ready: FitInput, planned: ReleasePlan) -> FittedRelease:
    """A release of this plan with zeros for its numbers: all else of it is known before anything is reserved."""
    plan, about, several = planned.plan, planned.mechanism.about, len(ready.facts.model_labels)
    stated = plan.statement.released
    blocks = {
        name: np.zeros(block.shape) for name, block in stated.items() if about.noise_in == "sums" or name != "coef"
    }
    parts = [blocks] * (several or 1) if planned.mechanism.joint else [dict(blocks) for _ in range(several or 1)]
    size = plan.problem.geometry.n_coefs
    iterates = np.zeros((len(blocks[about.steps_in]) + 1, size)) if about.steps_in else None
    fits = [Fit(np.zeros(size), plan.statement, part, iterates) for part in parts]
    numbers, intervals = {}, None
    if (ranges := planned.ranges) is not None:
        numbers = {name: np.zeros(block.shape) for name, block in ranges.released.items()}
        intervals = ranges_of(numbers, ranges.released, ranges.problem, ranges.columns)
    done = fitting.Outcome(fits, numbers, intervals)
    return _released(ready.facts, ready.data.labels, planned, planned.statement, done)


def check_values(ready: FitInput, planned: ReleasePlan) -> None:
    """Raise for whatever a fit with this plan would refuse of the rows: nothing is drawn."""
    rows = ready.data.rows(ready.facts.prep, None)
    planned.mechanism.check_rows(rows, planned.plan.problem)
    rows.total(Moments(rows.geometry.d, rows.geometry.intercept > 0))


def _released(
    facts: PublicFacts, labels: Labels | None, planned: ReleasePlan, statement: PrivacyStatement, done: fitting.Outcome
) -> FittedRelease:
    fits, mechanism = done.fits, planned.mechanism
    plan, parts = Plan(mechanism, facts.problem, fits[0].statement), [fit.released for fit in fits]
    if done.intervals is None:
        prep = clipped(facts.prep, mechanism, plan, parts)
    else:
        prep = facts.prep.narrowed(*done.intervals)
    histories = [read_history(fit, facts.start, facts.problem, prep, labels) for fit in fits]
    bounds = None if facts.features is not None else facts.bounds
    link = mechanism.link(planned.plan)
    record = Record(mechanism, plan, prep, parts, done.ranges, bounds, facts.features, link)
    models = coefs = [fit.coef for fit in fits]
    if MOVED in planned.plan.statement.solution:
        flags = () if prep.layout is None else prep.layout.indicators
        models = [without_pull(coef, planned.plan, flags) for coef in coefs]
    return FittedRelease(record, statement, coefs, histories, models)


def clipped(prep: Prep, mechanism: Mechanism, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]]) -> Prep:
    """The map of the rows that the mechanism summed: clipped to ranges made of its own release, if any."""
    intervals = mechanism.intervals_of(plan, parts[0])
    return prep if intervals is None else prep.clipped(*intervals)
