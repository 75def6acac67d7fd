"""The map from margins to log odds as plain values and back."""

from __future__ import annotations

import math
from typing import Any

from dplr.mechanisms.protocol import Mechanism
from dplr.model_file.readers import number, table
from dplr.model_file.strict_json import refuse
from dplr.problem.link import MOST_TURN, Link
from dplr.problem.plan import Plan

_LINK = table({"share": number(0.0, 1.0, above=True), "turn": number(-MOST_TURN, MOST_TURN), "bend": number(0.0, 0.5)})

_ENDLESS = 1e6  # with less, rows without number are needed for a share that rounds to 1
_ROUNDED = 1e-9
_GRID = 1e-3  # noise tells the clip of gradients up to the grid of their sums, which is finer


def write_link(link: Link) -> dict[str, Any]:
    """The three numbers of a link that is not the logistic one, for which a file has none."""
    return {"share": link.share, "turn": link.turn, "bend": link.bend}


def read_link(where: str, value: Any) -> Link:
    """The link again."""
    return Link(**_LINK(where, value))


def check_link(link: Link, fitted: Any, mechanism: Mechanism, plan: Plan) -> Link:
    """Refuse a link of a model that predicts no probabilities, and one that its mechanism does not make.

    A file without a link keeps the logistic one: older files have none.
    """
    eps = plan.statement.eps
    if link.share and not hasattr(fitted, "predict_proba"):
        refuse("model.link", "must be absent where there are no probabilities", type(fitted).__name__)
    if not link.cut:
        refuse("model.link.bend", f"must be 0 or that of a soft cut at turn = {link.turn:g}", link.bend)
    if link.share == 1 and eps < _ENDLESS:
        refuse("model.link.share", f"must be below 1 with eps = {eps:g}", link.share)
    if link.share:
        _check_made(link, mechanism.link(plan), plan.statement.mechanism)
    return link


def _check_made(link: Link, expected: Link, mechanism: str) -> None:
    """Refuse a link other than that of the mechanism and its noise."""
    if not expected.share:
        refuse("model.link", "must be absent with this mechanism and its noise", mechanism)
    near = {
        "share": math.isclose(link.share, expected.share, rel_tol=_ROUNDED),
        "turn": math.isclose(_slope(link), _slope(expected), rel_tol=_GRID),
        "bend": math.isclose(link.bend, expected.bend, rel_tol=_GRID, abs_tol=_GRID),
    }
    for name, right in near.items():
        if not right:
            rule = f"must be that of the mechanism and its noise, {getattr(expected, name):g}"
            refuse(f"model.link.{name}", rule, getattr(link, name))


def _slope(link: Link) -> float:
    """Size of the slope of the logistic loss at the turn."""
    return 1 / (1 + math.exp(link.turn))
