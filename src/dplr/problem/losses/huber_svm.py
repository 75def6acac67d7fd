"""The hinge whose corner is rounded."""

from __future__ import annotations

from dplr.problem.losses.loss import Loss


def huber_svm(width: float) -> Loss:
    """Hinge loss with its corner rounded on |1 - y z| <= width (CMS11 section 3.4.2).

    With v = y z: 0 for v > 1 + width, (1 + width - v)^2 / (4 width) within, 1 - v for v < 1 - width.
    """
    smoothness = 1 / (2 * width)
    return Loss("huber_svm", classification=True, lipschitz=1.0, smoothness=smoothness, width=width, one_signed=True)
