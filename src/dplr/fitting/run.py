"""The story of a release: reserve, sum, add noise, solve, commit. Nothing comes back once noise was drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.warnings import UtilityWarning, warn
from dplr.bounds.declared import Bounds
from dplr.bounds.fourier import FourierMap
from dplr.bounds.scaling import Prep
from dplr.fitting import ranges
from dplr.fitting.data import Data
from dplr.fitting.planning import PublicFacts
from dplr.fitting.pretraining import PublicData
from dplr.ledger.budget import Budget, Reservation
from dplr.mechanisms.perturbation.ridge import without_pull
from dplr.mechanisms.protocol import Mechanism
from dplr.noise import Source
from dplr.privacy.statement import MOVED, PrivacyStatement
from dplr.problem.link import LOGIT, Link
from dplr.problem.outlook import Outlook
from dplr.problem.plan import Plan
from dplr.rows import FaultyRows, Rows
from dplr.rows.exact import Moments
from dplr.solvers.certificate import NotCertified

T = TypeVar("T")
Vector = NDArray[np.float64]
Blocks = Mapping[str, Vector]
Ends = tuple[Vector, Vector]


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

    def take(self, indices: NDArray[np.intp], n_rows: int | None) -> FitInput:
        """Some of the rows, and how many of them are public."""
        return FitInput(self.data.take(indices), replace(self.facts, n_rows=n_rows))

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Tell the data holder what faulty rows hold."""
        try:
            yield
        except FaultyRows as error:
            raise ValueError(self.data.explained(error)) from None


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """Where noisy gradient descent went: post-processing of what was released, free to look at and to publish.

    Attributes
    ----------
    gradients : ndarray of shape (steps, n_coefs)
        Released sums of clipped gradients, in the scaled problem.
    coefs : ndarray of shape (steps + 1, n_features)
        Iterates in the user's units, the start first.
    intercepts : ndarray of shape (steps + 1,)
        Intercepts of the iterates, in the user's units.
    public_loss : ndarray of shape (steps + 1,) or None
        Mean loss on the public data; None where `public` held none.

    Privacy
    -------
    A function of released numbers and public facts: no further privacy loss.

    See Also
    --------
    dplr.NoisyGradientDescent : The mechanism that has one.
    dplr.plots.plot_history : Draws it.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> mechanism = dplr.NoisyGradientDescent(steps=5)
    >>> est = dplr.fit(X, X[:, 0] > 0, mechanism=mechanism, eps=1.0, delta=1e-6)
    >>> isinstance(est.history_, dplr.results.History)
    True
    >>> est.history_.coefs.shape
    (6, 2)
    """

    gradients: NDArray[np.float64]
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    public_loss: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """What came out of a plan, and what follows from it: all that further models, files and predictions need.

    Attributes
    ----------
    plan : of every model, as a file has it: of the problem that was asked for, and without settings.
    statement : of all that was released.
    prep : the map from raw rows to scaled rows, and of coefficients back.
    parts : block name -> noisy numbers, of each model; the same mapping for all where they share one release.
    ranges : block name -> noisy numbers, of the ranges that were released before; empty for none.
    bounds : that were declared of the columns of the table; None for none.
    features : the map that made the rows; None where the table has them.
    link : from margins to log odds, where labels have probabilities.
    coefs : scaled coefficients of each model, as they were released; empty in what was read from a file.
    models : scaled coefficients of each model, of predictions.
    histories : of each model.
    """

    plan: Plan
    statement: PrivacyStatement
    prep: Prep
    parts: Sequence[Blocks]
    ranges: Blocks = field(default_factory=dict)
    bounds: Bounds | None = None
    features: FourierMap | None = None
    link: Link = LOGIT
    coefs: Sequence[Vector] = ()
    models: Sequence[Vector] = ()
    histories: Sequence[History | None] = (None,)

    @property
    def mechanism(self) -> Mechanism:
        return self.plan.mechanism  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """How many numbers a file of it holds, with noise or made of some."""
        blocks = {id(part): part for part in (*self.parts, self.ranges)}
        sizes = [np.size(block) for part in blocks.values() for block in part.values()]
        sizes += [np.size(coef) for coef in self.coefs]
        sizes += [np.size(history.coefs) + 2 * len(history.coefs) for history in self.histories if history is not None]
        return sum(sizes)


class Numbers(NamedTuple):
    """What a plan released: the blocks of each model, those of the ranges before, and the intervals that these gave."""

    parts: list[dict[str, Vector]]
    ranges: Blocks
    ends: Ends | None


def release(
    ready: FitInput,
    plans: Sequence[Plan],
    ledger: Budget,
    source: Source,
    track: Track = silent,
    keep: Callable[[list[Release]], bytes | None] | None = None,
) -> list[Release]:
    """One release for each plan of the facts, all done and paid for when this returns; `keep` makes a file of them.

    All fit into the budget, or none is begun. A solver that missed its tolerance tells of the data, so it is paid for.
    """
    ready.data.check_plans([plan.model for plan in plans])
    rows = ready.data.rows(ready.facts.prep)  # faults of the columns are raised here, before anything is reserved
    ready.data.warn_narrow(ready.facts.prep)  # as warnings are, which may be errors
    plans = marked(plans, source)
    with spending(ledger, [plan.statement for plan in plans], source) as reservation:
        numbers = run(rows, plans, source, track)
        done = [_finished(ready, plan, *each) for plan, each in zip(plans, numbers, strict=True)]
        reservation.commit(None if keep is None else keep(done))
    return done


def marked(plans: Sequence[Plan], source: Source) -> list[Plan]:
    """The plans, which say whether their noise can be drawn again; one object for a plan, however often it runs."""
    different = {id(plan): plan for plan in plans}
    once = {key: plan.stating(reproducible=source.reproducible) for key, plan in different.items()}
    return [once[id(plan)] for plan in plans]


@contextlib.contextmanager
def spending(ledger: Budget, statements: Sequence[PrivacyStatement], source: Source) -> Iterator[Reservation]:
    """Reserve before the first row is read; give back what failed before the first draw.

    The ledger is told before the first draw: if it no longer holds the budget, nothing is drawn. A missed tolerance
    depends on the data, so it is spent.
    """
    reservation, begun = ledger.reserve(*statements), False

    def first_draw() -> None:
        nonlocal begun
        begun = True
        reservation.draw()

    try:
        with source.told_first(first_draw):
            yield reservation
    except BaseException as error:
        if not begun:
            first_draw() if isinstance(error, NotCertified) else reservation.refund()
        raise


def accounted(ledger: Budget, statements: Sequence[PrivacyStatement], source: Source, work: Callable[[], T]) -> T:
    with spending(ledger, statements, source) as reservation:
        done = work()
        reservation.commit()
    return done


def run(rows: Rows, plans: Sequence[Plan], source: Source, track: Track = silent) -> list[Numbers]:
    """What each plan releases: those without ranges together, those with ranges one by one, since each has its own.

    Faults of the rows are raised before any noise is drawn. Every mechanism looks at the rows first: one that refuses
    them must not come after the noise of another.
    """
    together: dict[Mechanism, list[Plan]] = {}
    for plan in {id(plan): plan for plan in plans}.values():
        plan.mechanism.check_rows(rows, plan.problem)
    moments = None
    for plan in plans:
        if plan.first is None:
            together.setdefault(plan.mechanism, []).append(plan)
        elif moments is None:
            moments = ranges.moments_of(rows)
    alone = {}
    for mechanism, group in together.items():
        alone[mechanism] = iter(_models(rows, group, source, track))
    done = []
    for plan in plans:
        if plan.first is None or moments is None:
            done.append(Numbers(next(alone[plan.mechanism]), {}, None))
            continue
        numbers = ranges.drawn(moments, plan.first, source)
        ends = ranges.intervals(numbers, plan.first.released, plan.first.problem, plan.first.columns)
        (parts,) = _models(rows.narrowed(*ends), [plan], source, track)
        done.append(Numbers(parts, numbers, ends))
    return done


def _models(rows: Rows, plans: Sequence[Plan], source: Source, track: Track) -> list[list[dict[str, Vector]]]:
    """The released blocks of each model, for plans of one mechanism."""
    mechanism: Mechanism = plans[0].mechanism
    models, classes = [plan.each or plan for plan in plans], len(plans[0].classes)
    if len(plans) == 1 and not classes:
        return [[mechanism.run(rows, models[0], source, track)]]
    if not classes or models[0].classes:  # one model, or one release for the models of all classes
        return [[part] * (classes or 1) for part in mechanism.run_many(rows, models, source, track)]
    each = [mechanism.run_many(rows.of_class(position), models, source, track) for position in range(classes)]
    return list(map(list, zip(*each, strict=True)))


def _finished(
    ready: FitInput, plan: Plan, parts: list[dict[str, Vector]], of_ranges: Blocks, ends: Ends | None
) -> Release:
    """Models and histories: post-processing of what was released."""
    models = list(
        zip(plan.mechanism.solve(plan.model, parts), [part.pop("iterates", None) for part in parts], strict=True)
    )
    for part in parts:
        part.pop("coef", None)
    return _released(ready, plan, parts, models, of_ranges, ends)


def _released(
    ready: FitInput,
    plan: Plan,
    parts: Sequence[Blocks],
    of_models: Sequence[tuple[Vector, Vector | None]],
    of_ranges: Blocks,
    ends: Ends | None,
) -> Release:
    """`of_models` are the coefficients and the iterates of each."""
    facts, model, coefs = ready.facts, plan.model, [coef for coef, _ in of_models]
    of_one = Plan(plan.mechanism, facts.problem, model.statement)
    prep = clipped(facts.prep, of_one, parts) if ends is None else facts.prep.narrowed(*ends)
    models = coefs
    if MOVED in model.statement.solution:
        flags = () if prep.layout is None else prep.layout.indicators
        models = [without_pull(coef, model, flags) for coef in coefs]
    histories = [_history(ready, prep, plan, part, went) for part, (_, went) in zip(parts, of_models, strict=True)]
    columns = None if facts.features is not None else facts.bounds, facts.features, plan.mechanism.link(model)
    return Release(of_one, plan.statement, prep, parts, of_ranges, *columns, coefs, models, histories)


def clipped(prep: Prep, plan: Plan, parts: Sequence[Blocks]) -> Prep:
    """The map of the rows that the mechanism summed: clipped to ranges made of its own release, if any."""
    intervals = plan.mechanism.intervals_of(plan, parts[0])
    return prep if intervals is None else prep.clipped(*intervals)


def _history(ready: FitInput, prep: Prep, plan: Plan, part: Blocks, iterates: Vector | None) -> History | None:
    """Gradients and iterates of a descent, and the loss on public data where there are any."""
    if iterates is None:
        return None
    models, public, losses = [prep.to_user_units(coef) for coef in iterates], ready.facts.start, None
    if isinstance(public, PublicData):
        labels = ready.data.labels
        losses = public.mean_losses(ready.facts.problem, prep, labels.classes.tolist() if labels else None, iterates)
    coefs, intercepts = np.array([coef for coef, _ in models]), np.array([intercept for _, intercept in models])
    return History(part[plan.mechanism.about.steps_in], coefs, intercepts, losses)


def blank(ready: FitInput, plan: Plan) -> Release:
    """A release of this plan with zeros for its numbers: all else of it is known before anything is reserved."""
    about, model, several = plan.mechanism.about, plan.model, len(plan.classes) or 1
    stated, size = model.statement.released, plan.problem.geometry.n_coefs
    sums = about.noise_in == "sums"
    blocks = {name: np.zeros(block.shape) for name, block in stated.items() if sums or name != "coef"}
    parts = [blocks] * several if model.classes else [dict(blocks) for _ in range(several)]
    iterates = np.zeros((len(blocks[about.steps_in]) + 1, size)) if about.steps_in else None
    numbers, ends, first = {}, None, plan.first
    if first is not None:
        numbers = {name: np.zeros(block.shape) for name, block in first.released.items()}
        ends = ranges.intervals(numbers, first.released, first.problem, first.columns)
    return _released(ready, plan, parts, [(np.zeros(size), iterates)] * several, numbers, ends)


def check_values(ready: FitInput, plan: Plan) -> None:
    """Raise for whatever a fit with this plan would refuse of the rows: nothing is drawn."""
    rows = ready.data.rows(ready.facts.prep)
    plan.mechanism.check_rows(rows, plan.problem)
    rows.total(Moments(rows.geometry.d, rows.geometry.intercept > 0))


def warn_of_noise(outlooks: Iterable[Outlook | None]) -> None:
    """Warn once, about the fit that noise affects most, if noise drowns any of these fits."""
    drowned = [outlook for outlook in outlooks if outlook is not None and outlook.drowned]
    if drowned:
        warn(str(max(drowned, key=lambda outlook: outlook.ratio)), UtilityWarning)
