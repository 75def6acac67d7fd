"""A fit on some rows, and the evaluation of its model on the others, for the larger loss of both (evaluation.md)."""

from __future__ import annotations

import contextlib
import weakref
from dataclasses import replace
from typing import Any

from sklearn.utils import _safe_indexing

from dplr._kit.validation import real_number, sentence
from dplr._kit.warnings import DataWarning, muted, warn
from dplr.bounds.declared import as_bounds
from dplr.estimators._evaluated import FITTED
from dplr.evaluation.law import beside
from dplr.evaluation.release import evaluate
from dplr.evaluation.value import Evaluation
from dplr.fitting.streaming import refuse_stream
from dplr.noise.splits import part_sizes, secret_parts, split_source, split_words
from dplr.privacy.composition import exact
from dplr.privacy.guarantees import Neighbouring
from dplr.rows import as_table, check_indexes


def fit_and_evaluate(estimator: Any, X: Any, y: Any, sample_weight: Any, person: Any, holdout: Any) -> Any:
    """The estimator, fitted to the rest of the rows, with `evaluation_`; refused where the losses would add up."""
    share = real_number("holdout", holdout)
    if not 0 < share < 1:
        raise ValueError(sentence("holdout", "must be a share of the rows between 0 and 1", holdout, "0.2 is usual."))
    _check(estimator, X, person)
    check_indexes(X=X, y=y, sample_weight=sample_weight)
    table = as_table(X)
    n = len(X) if table is None else len(table)
    shares = [exact(share), 1 - exact(share)]
    if 0 in (sizes := part_sizes(n, shares)):
        raise ValueError(sentence("holdout", f"must leave at least one of {n} rows on either side", holdout))
    counted = estimator.neighbouring == Neighbouring.REPLACE_ONE
    columns = [X, y, sample_weight]
    _check_lengths(n, y=y, sample_weight=sample_weight)
    reference = None
    if estimator.n_rows is not None:
        if counted and estimator.n_rows != n:
            raise ValueError(sentence("n_rows", f"must be len(X) = {n} under replace_one", estimator.n_rows))
        reference, estimator.n_rows = (max(size, 1) for size in part_sizes(estimator.n_rows, shares))
    tested, fitted = secret_parts(split_source(estimator.rng), n, shares, estimator.neighbouring)
    fit_rows, fit_y, fit_weights = (_taken(column, fitted) for column in columns)
    model = estimator.fit(fit_rows, fit_y, sample_weight=fit_weights)
    with contextlib.suppress(TypeError):  # a list has no weak references
        FITTED[model] = weakref.ref(X)  # which holds the rows of the fit
    rows, outcomes, weights = (_taken(column, tested) for column in columns)
    split = f"{sizes[0]} of {n} rows" if counted else f"rows that a share of {share:g} was drawn for, one by one"
    model.evaluation_ = _evaluation(model, rows, outcomes, weights, split, None if counted else reference)
    return model


def _check(estimator: Any, X: Any, person: Any) -> None:
    """Refuse what theorem 2 does not cover."""
    refuse_stream(X, "with `holdout`")
    bounds = as_bounds(estimator.bounds)
    if person is not None or estimator.person is not None or (bounds is not None and bounds.person is not None):
        rule = "must be None with `holdout`: a person may have rows in both parts"
        raise ValueError(sentence("person", rule, "persons", "Keep rows of other persons apart, and evaluate on them."))
    if getattr(estimator.mechanism, "batch", "full") != "full":
        rule = "must take full batches with `holdout`"
        raise ValueError(sentence("mechanism", rule, estimator.mechanism, "Evaluate in a release of its own."))


def _check_lengths(n: int, **columns: Any) -> None:
    """Refuse columns of another length, of which some entries would be left out, or be those of other rows."""
    for name, column in columns.items():
        if column is not None and not isinstance(column, str) and len(column) != n:
            raise ValueError(sentence(name, f"must have one entry for each of {n} rows", len(column)))


def _taken(column: Any, places: Any) -> Any:
    """Some rows of a table, an array or a list; the name of a column as it is."""
    if column is None or isinstance(column, str):
        return column
    table = as_table(column)
    return _safe_indexing(column, places) if table is None else table.take(places).native


def _evaluation(
    model: Any, rows: Any, outcomes: Any, weights: Any, split: str, reference: int | None
) -> Evaluation | None:
    """The evaluation, which the statement of the fit pays for; None, with a warning, where it met a fault in the rows.

    The fit is paid for by then: a fault in the other rows must not lose it.
    """
    eps = beside(model.privacy_.guarantee)
    try:
        with muted(DataWarning):  # the fit warned of the rows beside them
            evaluation = evaluate(model, rows, outcomes, eps=eps, sample_weight=weights,
                             neighbouring=model.neighbouring, n_rows=reference, rng=model.rng)  # fmt: skip
    except Exception as error:
        warn(DataWarning(f"the model was not evaluated: {error}", "For the data holder: not private."), DataWarning)
        return None
    fact = (
        f"these are {split}, by {split_words(model.rng is not None)}, and the model was fitted to the others: "
        "together they lose the larger of both losses"
    )
    statement = replace(evaluation.privacy_, assumptions=(*evaluation.privacy_.assumptions, fact))
    return replace(evaluation, privacy_=statement)
