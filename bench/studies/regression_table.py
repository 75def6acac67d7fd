"""A regression table as it would stand in a paper, beside statsmodels' table of the same fit of the same rows.

    DPLR_DATA=<folder> python -m bench.studies.regression_table

fits income and insurance of the American Community Survey privately, once, keeps the models in `docs/examples` and
writes both tables into `docs/use/regression-table.md`. Needs statsmodels (extra `demo`). With ``--keep`` the models in
`docs/examples` are taken instead: then nothing is fitted privately, and the tables are those of the kept releases.
"""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import dplr

ROOT = Path(__file__).parents[2]
PAGE, EXAMPLES = ROOT / "docs/use/regression-table.md", ROOT / "docs/examples"
ROWS = 100_000
COLUMNS = {
    "Age": (18, 80),
    "Male": (0, 1),
    "Education": (12, 24),
    "WorkHours": (0, 60),
    "IsMarried": (0, 1),
    "Native": (0, 1),
    "Disability": (0, 1),
    "OwnsDwelling": (0, 1),
}
INCOME = (0, 150_000)
EPS, DELTA = 1.0, 1e-6


def rows():
    """The first rows of the file, which is in random order."""
    table = pd.read_parquet(Path(os.environ["DPLR_DATA"]) / "acs2024_fm_370k.parquet").iloc[:ROWS]
    return table[list(COLUMNS)].astype(float), table["AnnualIncome"].astype(float), table["HealthInsured"].astype(int)


def private(X, income, insured):
    """The two releases: one of sums, with squared residuals, and one of scores."""
    spec = dplr.FunctionalMechanism(intervals="robust")
    linear = dplr.fit(
        X, income, model="linear", mechanism=spec, eps=EPS, delta=DELTA, bounds=dplr.Bounds(COLUMNS, target=INCOME)
    )
    bounds = dplr.Bounds(COLUMNS, target=(0, 1))
    logistic = dplr.fit(X, insured.rename("HealthInsured"), mechanism="score", eps=EPS, delta=DELTA, bounds=bounds)
    return linear, logistic


def statsmodels_tables(X, income, insured):
    """Least squares with robust errors, and the logistic maximum, of the rows as the releases count them."""
    import statsmodels.api as sm

    clipped = X.clip(*np.array(list(COLUMNS.values())).T, axis=1)
    design = sm.add_constant(clipped, prepend=False).rename(columns={"const": "(intercept)"})
    least = sm.OLS(income.clip(*INCOME), design).fit(cov_type="HC0")
    return least.summary2(), sm.Logit(insured, design).fit(disp=False).summary2()


def text_of(summary):
    """The coefficients of a table of statsmodels."""
    return summary.tables[1].round(4).to_string()


def write(name, text):
    """Put a text between its marks in the page."""
    page = PAGE.read_text(encoding="utf-8")
    block = f"<!-- {name} -->\n```text\n{text}\n```\n<!-- /{name} -->"
    new, count = re.subn(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda _: block, page, flags=re.S)
    if count != 1:
        raise ValueError(f"{PAGE} must have the marks of {name} once")
    PAGE.write_text(new, encoding="utf-8")


def main():
    X, income, insured = rows()
    paths = [EXAMPLES / "acs_income.model.json", EXAMPLES / "acs_insured.model.json"]
    if "--keep" not in sys.argv:
        for model, path in zip(private(X, income, insured), paths, strict=True):
            dplr.save_model(model, path)
    models = [dplr.load_model(path) for path in paths]
    for name, model, other in zip(("income", "insured"), models, statsmodels_tables(X, income, insured), strict=True):
        write(name, model.summary().to_text())
        write(f"{name}-statsmodels", text_of(other))


if __name__ == "__main__":
    main()
