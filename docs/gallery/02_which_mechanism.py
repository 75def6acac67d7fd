"""
Which mechanism?
================

Before a row is read, dplr simulates fits of made-up tables with your bounds and says what error to expect of each
mechanism. It costs no privacy. ``mechanism="auto"``, the default of every fit, follows rules of the same kind.
"""

import dplr
from dplr import plots

bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=("no", "yes"))
curve = dplr.plan_curve(bounds=bounds, n_rows=[5_000], eps=[0.1, 0.3, 1.0], delta=[1e-6])
print(curve)

# %%
# Lower is better. The dotted line is the error of the model without privacy, and the dashed one that of no model.

ax = plots.plot_curve(curve)
