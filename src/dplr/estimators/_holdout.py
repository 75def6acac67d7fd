"""One release of a model, fitted to some rows, and of its evaluation on the others (evaluation.md, theorem 2)."""

from __future__ import annotations

import contextlib
import weakref
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dplr._kit.progress import bars, silent
from dplr._kit.validation import check_eps, real_number, sentence
from dplr._kit.warnings import DataWarning, muted, warn
from dplr.bounds.declared import as_bounds
from dplr.estimators._callers import call_stack, refuse
from dplr.estimators._fitted import FITTED
from dplr.evaluation.law import beside
from dplr.evaluation.release import EvaluationPlan, counted, drawn, planned
from dplr.evaluation.scorer import scorer_of
from dplr.evaluation.value import Evaluation
from dplr.fitting.data import Data, refuse_stream, too_many
from dplr.fitting.planning import check_promise
from dplr.fitting.pretraining import check_other_rows
from dplr.fitting.run import FitInput, blank, check_values, release, spending, warn_of_noise
from dplr.ledger.budget import NullLedger
from dplr.ledger.handle import as_ledger
from dplr.ledger.keeping import Keeping
from dplr.noise import Source
from dplr.noise.splits import part_sizes, secret_parts, split_source, split_words
from dplr.planner.preview import warn_of_silence
from dplr.privacy.composition import exact
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import EVALUATION
from dplr.problem.plan import Plan
from dplr.rows import row_weights


class _Parts(NamedTuple):
    """Rows before a secret split, in which the first part is held out."""

    data: Data
    ready: FitInput  # all rows, and the public facts of the part that is fitted
    shares: list[Fraction]
    sizes: list[int | None]  # public numbers of rows, or references; None for neither


def fit_and_evaluate(estimator: Any, X: Any, y: Any, sample_weight: Any, person: Any, holdout: Any) -> Any:
    """The model, fitted to the rows that are not held out, with `evaluation_`: one plan, and one payment."""
    share = real_number("holdout", holdout)
    if not 0 < share < 1:
        raise ValueError(sentence("holdout", "must be a share of the rows between 0 and 1", holdout, "0.2 is usual."))
    refuse_stream(X, "with `holdout`")
    check_other_rows(estimator.public, X)
    try:
        model, ended = _released(estimator, _parted(estimator, X, y, sample_weight, person, share))
    except MemoryError as error:
        raise too_many(y, error) from None
    with contextlib.suppress(TypeError):  # a list has no weak references
        FITTED[model] = weakref.ref(X)
    if ended is not None:
        _tell(ended, model)
    return model


def _parted(estimator: Any, X: Any, y: Any, sample_weight: Any, person: Any, share: float) -> _Parts:
    """All rows before a split, with the public facts of the part that is fitted."""
    callers, bounds = call_stack(), as_bounds(estimator.bounds)
    refuse(estimator, callers)
    data = estimator._read(X, y, bounds, callers, sample_weight, person)
    if data.unit.person is not None:
        rule = "must be None with `holdout`: a person may have rows in both parts"
        raise ValueError(sentence("person", rule, "persons", "Keep rows of other persons apart, and evaluate on them."))
    shares = [exact(share), 1 - exact(share)]
    # curves="auto" looks at n eps, n of the fit
    ready: FitInput = estimator._ready(data, bounds, [check_eps(estimator.eps) * float(shares[1])], callers)
    reference = ready.facts.n_rows  # a private number of rows refuses nothing: parts without rows are released
    sizes: list[int | None] = [None, None] if reference is None else [*part_sizes(reference, shares)]
    if 0 in sizes:
        raise ValueError(sentence("holdout", f"must leave at least one of {reference} rows on either side", share))
    ready = replace(ready, facts=replace(ready.facts, n_rows=sizes[1]))
    return _Parts(data, ready, shares, sizes)


def _released(estimator: Any, parts: _Parts) -> tuple[Any, BaseException | None]:
    """Plan both parts, reserve, check all rows, fit, evaluate, commit: the model, and what ended its evaluation."""
    ready, ledger, source = parts.ready, as_ledger(estimator.ledger), estimator._source()
    if estimator.n_rows is not None:
        estimator.n_rows = ready.facts.n_rows
    check_promise([estimator.eps], ready.facts)
    estimator._name_columns(ready.facts)
    plan = ready.facts.planned(estimator.eps).stating(reproducible=source.reproducible)
    warn_of_noise([plan.outlook])
    warn_of_silence(ready.facts, {estimator.eps: plan})
    model = estimator._of(blank(ready, plan), ready)
    evaluation = planned(
        scorer_of(model, None, None, False), ready.data.y, parts.sizes[0], beside(plan.statement.guarantee),
        ready.facts.neighbouring, parts.data.unit,
    )  # fmt: skip
    plan, evaluation = _together(plan, evaluation, parts)
    blocks = {name: np.zeros(block.shape) for name, block in evaluation.statement.released.items()}
    estimator._check_file(ledger, ready, estimator.eps, plan, evaluation.of(blocks))
    ready.data.warn_narrow(ready.facts.prep)
    n, relation = len(ready.data.y), ready.facts.neighbouring
    ended: BaseException | None = None
    with spending(ledger, [plan.statement], source) as reservation:
        with ready.explaining():
            check_values(ready, plan)  # of either part
        tested, fitted = secret_parts(split_source(estimator.rng), n, parts.shares, relation)
        part, track = ready.take(fitted, parts.sizes[1]), bars if estimator.progress else silent
        with muted(DataWarning):  # of one part: all rows were told of
            (done,) = release(part, [plan], NullLedger(), source, track)
        model = estimator._of(done, ready)
        try:
            model.evaluation_ = _evaluated(model, evaluation, parts, tested, source)
        except BaseException as error:  # the fit is paid for: whatever ends its evaluation must not lose it
            model.evaluation_, ended = None, error
        reservation.commit(ledger.file_of(model) if isinstance(ledger, Keeping) else None)
    model._counted = not isinstance(ledger, NullLedger)
    return model, ended


def _together(plan: Plan, evaluation: EvaluationPlan, parts: _Parts) -> tuple[Plan, EvaluationPlan]:
    """Both plans with statements that name both parts; that of the fit is of all that is released."""
    fit, part = plan.statement, evaluation.statement
    split, loss = split_words(fit.reproducible), "the larger of both losses"
    if fit.neighbouring is Neighbouring.REPLACE_ONE:
        tested, fitted = (f"{size} of {len(parts.ready.data.y)} rows" for size in parts.sizes)
    else:
        tested, fitted = (f"rows that a share of {float(of):g} was drawn for, one by one" for of in parts.shares)
    whole = replace(
        fit,
        released={**fit.released, **{EVALUATION + name: block for name, block in part.released.items()}},
        assumptions=(
            *fit.assumptions,
            f"the model is fitted to {fitted}, by {split}, and evaluated on the others at eps = {part.eps:.6g}: every "
            f"record is in one part alone, so this guarantee, {loss}, is of both together",
        ),
        source=f"{fit.source}; dplr evaluation.md, theorem 2",
    )
    fact = f"these are {tested}, by {split}, and the model was fitted to the others: together they lose {loss}"
    evaluation = evaluation.stating(assumptions=(*part.assumptions, fact), reproducible=fit.reproducible)
    return replace(plan, statement=whole, each=plan.model), evaluation


def _evaluated(model: Any, plan: EvaluationPlan, parts: _Parts, tested: Any, source: Source) -> Evaluation:
    """The evaluation. No row can end it: all were checked, and one that has no finite answer counts nowhere."""
    with muted(DataWarning):  # a fit of these rows gives them all
        rows, data = parts.ready.data, parts.data
        part, weights = rows.take(tested), None
        if data.unit.weighted:  # without the factors of labels, which are for fits
            weights = row_weights(len(rows.y), data.unit, sample_weight=data.sample_weight).take(tested)
        plan = replace(plan, scorer=scorer_of(model, None, None, False))
        return plan.of(drawn(counted(plan, replace(part, weights=weights)), plan.statement, source))


def _tell(ended: BaseException, model: Any) -> None:
    """Warn that the model has no evaluation; an interrupt goes on, and has the model, which nobody else holds yet."""
    if not isinstance(ended, Exception):
        vars(ended)["model"] = model
        ended.add_note("The model is fitted and paid for, and was not evaluated: it is `model` of this exception.")
        raise ended
    reason = str(ended) or type(ended).__name__
    with contextlib.suppress(DataWarning):  # where warnings are errors
        warn(DataWarning(f"the model was not evaluated: {reason}", "For the data holder: not private."), DataWarning)
