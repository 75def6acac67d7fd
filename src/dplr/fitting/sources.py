"""The noise of a release: the operating system's, or a seed for tests, which is warned of."""

from __future__ import annotations

import numpy as np

from dplr._kit.validation import sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.noise import Source


def source_of(rng: int | None) -> Source:
    """The noise of a release; a seed is for tests, and warned of."""
    if rng is None:
        return Source()
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        remedy = "Generator objects are refused: copies of an estimator would share their noise."
        raise TypeError(sentence("rng", "must be None or an int", rng, remedy))
    message = "rng is set: the noise can be reproduced, so this fit protects nobody. Use rng=None for a real release."
    warn(message, PrivacyWarning)
    return Source(int(rng))
