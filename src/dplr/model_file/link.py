"""The map from margins to log odds as plain values and back."""

from __future__ import annotations

from typing import Any

from dplr.model_file.readers import number, table
from dplr.model_file.strict_json import refuse
from dplr.problem.losses.link import MOST_TURN, Link

_LINK = table({"share": number(0.0, 1.0, above=True), "turn": number(-MOST_TURN, MOST_TURN), "bend": number(0.0, 0.5)})

_ENDLESS = 1e6  # with less, rows without number are needed for a share that rounds to 1


def write_link(link: Link) -> dict[str, Any]:
    """The three numbers of a link that is not the logistic one, for which a file has none."""
    return {"share": link.share, "turn": link.turn, "bend": link.bend}


def read_link(where: str, value: Any) -> Link:
    """The link again."""
    return Link(**_LINK(where, value))


def check_link(link: Link, fitted: Any, eps: float) -> Link:
    """Refuse a link of a model that predicts no probabilities, and one that no mechanism makes."""
    if link.share and not hasattr(fitted, "predict_proba"):
        refuse("model.link", "must be absent where there are no probabilities", type(fitted).__name__)
    if not link.cut:
        refuse("model.link.bend", f"must be 0 or that of a soft cut at turn = {link.turn:g}", link.bend)
    if link.share == 1 and eps < _ENDLESS:
        refuse("model.link.share", f"must be below 1 with eps = {eps:g}", link.share)
    return link
