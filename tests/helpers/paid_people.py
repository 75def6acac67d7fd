"""Made rows for regression tables: pay by age, hours and kind of work."""

import numpy as np
import pandas as pd

N = 4000
BOUNDS = {"age": (18, 80), "work": {"levels": ["gov", "private", "self"]}, "hours": (0, 60)}
TARGET = (-100.0, 300.0)


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, n),
            "work": rng.choice(["gov", "private", "self"], n, p=[0.3, 0.5, 0.2]),
            "hours": rng.uniform(0, 60, n),
        }
    )
    pay = 2 * table.age + 30 * (table.work == "self") - 0.5 * table.hours + rng.normal(0, 20, n)
    return table, pay.rename("pay")
