"""How a fit goes: plan, reserve, run, commit. Private.

`intake.py` has the rows of a fit, in memory or streamed; `planning.py` makes a problem and a plan of public facts;
`run.py` tells the rest in order: it reserves what the plan states, reads the rows, draws noise and commits. What may
come before a plan has a file each: the start from public data, private ranges, the mechanism for an aim. So has what
comes of it for more than one model: several classes, searches, checks without a fit.

>>> from dplr.fitting.planning import public_facts
>>> facts = public_facts(n_rows=1000, n_features=2, model="logistic")
>>> facts.problem.n_rows
1000
"""
