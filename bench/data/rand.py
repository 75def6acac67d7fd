"""RAND Health Insurance Experiment, 20,190 records: did a person see a doctor in the year?"""

import math

import numpy as np

# Not from the data: the codebook (coinsurance of 0 to 100 percent, yes/no questions), the plans (at most 1,000 dollars
# a year out of pocket), and for the incentive payment and the index of diseases a generous guess.
BOUNDS = {
    "lncoins": (0, math.log(101)),  # ln(coinsurance + 1)
    "idp": (0, 1),  # individual deductible plan
    "lpi": (0, 7.5),  # ln(annual participation incentive payment); guess: up to 1,800 dollars
    "fmde": (0, math.log(4000)),  # ln(maximum expenditure / coinsurance): 1,000 dollars at 25 percent
    "physlm": (0, 1),  # physical limitation
    "disea": (0, 60),  # index of chronic diseases; guess
    "hlthg": (0, 1),  # self-rated health good ...
    "hlthf": (0, 1),  # ... fair
    "hlthp": (0, 1),  # ... poor (excellent is left out)
}


def load():
    """Train and test frames and targets: four fifths and one fifth, in an order that does not depend on the data."""
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data
    order = np.random.default_rng(2012).permutation(len(frame))
    X, y = frame[list(BOUNDS)].astype(np.float64), frame["mdvis"].to_numpy() > 0
    test, train = np.split(order, [len(frame) // 5])
    return X.iloc[train], y[train], X.iloc[test], y[test]
