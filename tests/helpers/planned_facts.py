"""Public facts of a plan, without the parameters that a test is not about."""

from dplr.fitting.facts import public_facts


def facts_of(bounds, model="logistic", **options):
    options = {"n_rows": 500, "n_features": None, "mechanism": "auto", "delta": 0.0, "public": None} | options
    rest = {"fit_intercept": True, "l2": "auto", "neighbouring": "replace_one", "aim": "prediction"}
    return public_facts(bounds=bounds, model=model, **rest, **options)
