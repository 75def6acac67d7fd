"""One release of how good a model is: plan, reserve, count, noise, commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplr._kit.keywords import suggests
from dplr._kit.validation import check_eps, check_flag, check_list, sentence
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds
from dplr.evaluation.classes import ClassEvaluation
from dplr.evaluation.grids import ClassGrid, ErrorGrid, ScoreGrid
from dplr.evaluation.labels import LabelEvaluation
from dplr.evaluation.law import Grid, plan_evaluation
from dplr.evaluation.numbers import NumberEvaluation
from dplr.evaluation.pair import DecisionPair, ErrorPair, PairEvaluation, PairScorer
from dplr.evaluation.scorer import Scoring, codes_of, finite, scorer_of
from dplr.evaluation.tally import BATCH, Outcomes
from dplr.evaluation.value import Evaluation
from dplr.fitting.data import Data, Declared, Streamed, declared_unit, read
from dplr.fitting.options import documented
from dplr.fitting.planning import check_loss, public_n_rows, rows_sentence
from dplr.fitting.run import accounted
from dplr.inference.intervals import check_level
from dplr.ledger.handle import LedgerLike, as_ledger
from dplr.mechanisms.drawing import noisy_cells
from dplr.noise import Source, source_of
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement
from dplr.privacy.unit import Unit
from dplr.rows import Table, Target, as_array, as_table, as_target
from dplr.rows.streams import one_pass
from dplr.rows.streams.parts import RemotePass, row_count_error
from dplr.rows.streams.recipe import Weighing

# The reference for the number of cells where the number of records is private and none was declared.
_REFERENCE = 1000
EVALUATIONS: dict[type, type[Evaluation]] = {
    ScoreGrid: LabelEvaluation,
    ClassGrid: ClassEvaluation,
    ErrorGrid: NumberEvaluation,
    DecisionPair: PairEvaluation,
    ErrorPair: PairEvaluation,
}


@suggests
@documented
def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    eps: float,
    against: Any = None,
    classes: Sequence[Any] | None = None,
    target_bounds: tuple[float, float] | None = None,
    decisions: bool = False,
    thresholds: Sequence[float] = (),
    in_sample: bool = False,
    sample_weight: Any = None,
    person: Any = None,
    bounds: BoundsLike = None,
    neighbouring: str = "replace_one",
    n_rows: int | None = None,
    level: float = 0.95,
    ledger: LedgerLike = None,
    rng: int | None = None,
) -> Evaluation:
    """Release how good a public model is on private rows, once, or how much better another one is.

    Every measure then costs nothing further.

    Parameters
    ----------
    model : estimator, callable or array
        A fitted model of dplr, a fitted pipeline of scikit-learn, a function of a batch of rows, or an array of its
        answers, one for each row: probabilities of the second of two labels, of shape (n,), or of all labels, of shape
        (n, K); numbers where `target_bounds` are declared; or labels, with ``decisions=True``.
    X : array-like, table, stream or None
        Private rows that the model was not fitted to, as `fit` takes them. None where `model` is an array.
    y : array-like or str
        Outcomes, or the name of a column of X, as it must be where rows are streamed.
    eps : float
        Privacy loss of the whole release, above 0.
    against : estimator, callable, array or None, default=None
        A second public model, or its answers: the release then says how much better it is than `model` on these rows.
    classes : sequence or None, default=None
        Public labels, where the model does not name them, in the order of the columns of an array; None then means 0
        and 1, or False and True. The second of two is positive.
    target_bounds : (float, float) or None, default=None
        Public bounds of a numeric target; None takes those that a model of dplr declares. Target and predictions are
        clipped to them.
    decisions : bool, default=False
        Count the labels that the model decides for, and not its probabilities.
    thresholds : sequence of float, default=()
        Public probabilities at which decisions will be asked for, beside 0.5 and the edges that the rule chooses; none
        with `against`.
    in_sample : bool, default=False
        Whether the model was fitted to rows of this table. The release says so.
    sample_weight : array-like, str or None, default=None
        Weights of rows, or the name of a column; they need a `weight_max` of the bounds.
    person : array-like, str or None, default=None
        Ids of persons, or the name of a column: all rows of a person are then protected together.
    bounds : Bounds, mapping, path-like or None, default=None
        Bounds whose `rows_per_person` and `weight_max` count, such as ``Bounds(None, rows_per_person=2)``. None takes
        those that a model of dplr declares. Columns `person` and `weight` that either model declares always count.
    level : float, default=0.95
        Level of the intervals; any other one can be read later.

    Returns
    -------
    LabelEvaluation, ClassEvaluation, NumberEvaluation or PairEvaluation
        The release: for probabilities of two labels, for more labels or decisions, for numbers, and with `against`.

    Raises
    ------
    ValueError, TypeError
        A parameter or the rows break a rule. No noise was drawn, and nothing was spent.
    BudgetExceeded
        The ledger cannot pay. No noise was drawn, and nothing was spent.

    Privacy
    -------
    eps-DP with discrete Laplace noise on counts of cells, under `neighbouring`, for one row or one person with all
    their rows; exact in integers (evaluation.md, theorem 1). The model, the cells, the labels and the bounds are
    assumed public, and each answer of the model to be a function of its own row. Who saw which row decides whether a
    measure is honest, not whether it is private: nothing can check that the rows are new.

    See Also
    --------
    dplr.fit : Fits what is evaluated.

    References
    ----------
    Proofs: evaluation.md.

    Examples
    --------
    >>> import dplr, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (20_000, 2))
    >>> y = rng.uniform(size=20_000) < X[:, 0]
    >>> model = dplr.fit(X[:10_000], y[:10_000], bounds=dplr.Bounds([(0, 1), (0, 1)]), eps=1.0)
    >>> result = dplr.evaluate(model, X[10_000:], y[10_000:], eps=0.5)
    >>> bool(0.7 < result.auc.estimate < 0.9), result.auc.noise_sd < 0.02
    (True, True)

    Is another model better than one that always says 0.5?

    >>> pair = dplr.evaluate(np.full(10_000, 0.5), None, y[10_000:], against=X[10_000:, 0], eps=0.5)
    >>> pair.against_is_better("accuracy")
    True
    """
    decisions, in_sample = check_flag("decisions", decisions), check_flag("in_sample", in_sample)
    level, thresholds = check_level(level), tuple(check_list("thresholds", thresholds))
    first = scorer_of(model, classes, target_bounds, decisions)
    scorer: Scoring = first
    if against is not None:
        if thresholds:
            raise ValueError(sentence("thresholds", "must be () with against, which compares decisions", thresholds))
        scorer = PairScorer(first, scorer_of(against, classes, target_bounds, decisions))
    declared = _declared(as_bounds(bounds), (model, against), person, sample_weight)
    eps, budget = check_eps(eps), as_ledger(ledger)
    data = _read(X, y, scorer, declared, sample_weight, person, model=model, against=against)
    unit = data.unit
    public = public_n_rows(data.units, n_rows, neighbouring, unit)
    check_loss([eps], 0.0, neighbouring, public, unit)
    plan = planned(scorer, data.y, public, eps, neighbouring, unit, thresholds, in_sample, level)
    source = source_of(rng)
    plan = replace(plan, statement=replace(data.stated(plan.statement), reproducible=source.reproducible))
    return plan.of(accounted(budget, [plan.statement], source, lambda: _numbers(plan, data, source)))


@dataclass(frozen=True, eq=False)
class EvaluationPlan:
    """All of an evaluation that is known before a row is read.

    Attributes
    ----------
    scorer : the questions to the model, or to one that will have its labels and bounds.
    grid : the cells.
    statement : of the evaluation.
    n_rows : public number of records or persons, or a reference; None for neither.
    names : the labels; empty for numbers.
    in_sample, level : as `evaluate` has them.
    """

    scorer: Scoring
    grid: Grid
    statement: PrivacyStatement
    n_rows: int | None
    names: tuple[Any, ...]
    in_sample: bool
    level: float

    def stating(self, **facts: Any) -> EvaluationPlan:
        """The plan with these fields in its statement."""
        return replace(self, statement=replace(self.statement, **facts))

    def of(self, numbers: dict[str, Any]) -> Evaluation:
        """The evaluation with these released numbers."""
        kind = EVALUATIONS[type(self.grid)]
        return kind(self.grid, numbers, self.statement, self.n_rows, self.names, self.in_sample, self.level)


def planned(
    scorer: Scoring,
    y: Target,
    n_rows: int | None,
    eps: float,
    neighbouring: str,
    unit: Unit,
    thresholds: Sequence[float] = (),
    in_sample: bool = False,
    level: float = 0.95,
) -> EvaluationPlan:
    """The plan of an evaluation, a function of public facts: of outcomes only the type counts."""
    labels = scorer.labels(y.take(slice(0, 0)))
    names = () if labels is None else tuple(labels.classes.tolist())
    grid = scorer.grid(len(names), _REFERENCE if n_rows is None else n_rows, eps, thresholds)
    facts = [*_assumptions(in_sample), *([] if labels is None else [labels.assumption])]
    if n_rows is not None:
        facts.append(rows_sentence(n_rows, neighbouring, unit.many))
    statement = plan_evaluation(grid, eps, Neighbouring(neighbouring), unit, facts)
    return EvaluationPlan(scorer, grid, statement, n_rows, names, in_sample, level)


def _bounds_of(model: Any) -> Any:
    """The bounds that a model of dplr declares; None for any other."""
    record = getattr(model, "_record", None)
    return None if record is None else record.bounds or _ball_of(getattr(model, "bounds", None))


def _ball_of(bounds: Any) -> Bounds | None:
    return bounds if isinstance(bounds, Bounds) and not bounds.columns else None


def _declared(bounds: Bounds | None, models: Sequence[Any], person: Any, sample_weight: Any) -> Declared:
    """What bounds and those of all models declare; of these, numbers without names count for ids and weights given."""
    owns = [
        Bounds(
            None, person=own.person, weight=own.weight,
            rows_per_person=own.rows_per_person if own.person or (bounds is None and person is not None) else 1,
            weight_max=own.weight_max if own.weight or (bounds is None and sample_weight is not None) else None,
        )
        for own in map(_bounds_of, models) if own is not None
    ]  # fmt: skip
    return declared_unit(None, bounds, *owns)


def _assumptions(in_sample: bool) -> list[str]:
    """Sentences about the model."""
    rows = "IN SAMPLE: the model was fitted to these rows too" if in_sample else "the model was fitted to other rows"
    return [
        "the model is public, and its answer for a row is a function of that row alone",
        f"{rows}, as declared",
    ]


def _read(X: Any, y: Any, scorer: Scoring, declared: Declared, sample_weight: Any, person: Any, **answers: Any) -> Data:
    """The rows, with ids and weights apart; shapes and indexes are checked, and only ids and weights are read."""
    if X is None:
        if scorer.needs_rows:
            raise ValueError(sentence("X", "must be rows where a model is no array", None))
        X = np.zeros((len(scorer.array), 0))
    data = read(X, y, sample_weight, person, declared=declared, **answers)
    outcomes = as_target(_column(data.y))
    if isinstance(data, Streamed):
        if scorer.array is not None or not data.stream.parts.is_local:
            rule = "must be in this process, and the model no array, where rows are streamed"
            raise TypeError(sentence("X", rule, repr(data.stream), "Read the rows into a table."))
        return data.counted(data.X, outcomes)
    rows, n = data.X if isinstance(data.X, Table) else as_array(data.X), len(outcomes)
    if n == 0 or len(rows) != n or (scorer.array is not None and len(scorer.array) != n):
        got = f"{len(rows)} rows, {n} outcomes"
        raise ValueError(sentence("y", "must have one outcome for each row, and one answer of the model", got))
    return data.counted(rows, outcomes)


def _column(target: Any) -> Any:
    table = as_table(target, "y")
    return target if table is None else table.column(0).to_native()


def _numbers(plan: EvaluationPlan, data: Data, source: Source) -> dict[str, Any]:
    """The exact sums with fresh noise; rows without an answer or an outcome are refused before it is drawn."""
    outcomes = counted(plan, data)
    if outcomes.lost:
        rule = "must have a label or a number in every row, and the model a finite answer, or a probability from 0 to 1"
        got = f"{outcomes.lost} rows without one"
        raise ValueError(sentence("y", rule, got, "Remove them by rules that do not come from the private data."))
    return drawn(outcomes, plan.statement, source)


def drawn(outcomes: Outcomes, statement: PrivacyStatement, source: Source) -> dict[str, Any]:
    """The sums with fresh noise of their blocks, of which the count is the last if it is released."""
    blocks = zip(statement.released.items(), outcomes.totals(), strict=False)
    return {name: noisy_cells(total, block, ..., source) for (name, block), total in blocks}


def counted(plan: EvaluationPlan, data: Data) -> Outcomes:
    """The exact sums of all rows; one without an answer or an outcome counts nowhere."""
    scorer, grid, blocks = plan.scorer, plan.grid, plan.statement.released
    sums = len(blocks) - 1 - ("count" in blocks)
    if isinstance(data, Streamed):
        return _counted_stream(data, scorer, grid, sums)
    total, n = Outcomes.none(grid, sums), len(data.y)
    for start in range(0, n, BATCH):
        at = slice(start, min(start + BATCH, n))
        rows = data.X.take(at).native if isinstance(data.X, Table) else data.X[at]
        weights = None if data.weights is None else data.weights.of_rows[at]
        total = total + _batch(scorer, grid, rows, data.y.take(at), weights, at)
    return total


def _counted_stream(streamed: Streamed, scorer: Scoring, grid: Grid, sums: int) -> Outcomes:
    """The exact sums of streamed rows; refused where they are not those that were counted: a row could count twice."""
    weighing, tally = streamed.tallied()
    job = OutcomePass(scorer, grid, sums, str(streamed.target), weighing)
    outcomes = one_pass(streamed.stream.parts, job) or Outcomes.none(grid, sums)
    if outcomes.rows != streamed.count:
        raise row_count_error("all parts", streamed.count, outcomes.rows)
    if tally is not None:
        tally.check()
    return outcomes


def _batch(scorer: Scoring, grid: Grid, rows: Any, y: Target, weights: Any, at: slice) -> Outcomes:
    labels = scorer.labels(y)
    codes = finite(y.as_float()) if labels is None else codes_of(labels)
    return Outcomes.of(grid, scorer.scores(rows, at, len(y), labels), codes, weights)


@dataclass(frozen=True, eq=False)
class OutcomePass(RemotePass[Outcomes]):
    """A pass over streamed rows that counts outcomes."""

    scorer: Scoring
    grid: Grid
    sums: int
    target: str
    weighing: Weighing | None

    def partial(self, batch: Any) -> Outcomes:
        table = as_table(batch)
        assert table is not None
        weighing = self.weighing
        columns = [self.target] if weighing is None else [self.target, weighing.unit.person, weighing.weight]
        rest, (y, *_) = table.parted([name for name in columns if name is not None])
        weights = None if weighing is None else weighing.of(table, None).of_rows
        return _batch(self.scorer, self.grid, rest.native, as_target(y), weights, slice(None))

    def merge(self, first: Outcomes, second: Outcomes) -> Outcomes:
        """The sums of both."""
        return first + second

    def dump(self, state: Outcomes) -> bytes:
        """The sums as bytes."""
        return state.dump()

    def load(self, data: bytes) -> Outcomes:
        """The sums from bytes."""
        lost, rows, *rest = (int(part) for part in data.split())
        return Outcomes(np.array(rest[self.sums :], np.int64), tuple(rest[: self.sums]), lost, rows)
