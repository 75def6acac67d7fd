"""Rows that the tests of tables share."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def loans():
    """A number, a column of two levels, and a target of both and their product."""
    rng, n = np.random.default_rng(0), 20_000
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "loan": rng.choice(["no", "yes"], n)})
    yes = frame.loan == "yes"
    return frame, 10 + 0.1 * frame.age + 2 * yes + 0.05 * yes * (frame.age - 54) + rng.normal(0, 3, n)
