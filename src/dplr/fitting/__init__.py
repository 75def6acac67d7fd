"""The steps of a fit: plan, reserve, run, commit. Private.

`data.py` is the door of rows, in memory or streamed; `planning.py` makes a problem and a plan from public facts;
`run.py` does the rest in order: it reserves the cost of the plan, reads the rows, draws noise and commits. Choices
before a plan have a file each: the start from public data, private ranges, the mechanism for an aim. So have fits of
several classes, searches, and checks without a fit.

>>> from dplr.fitting.facts import public_facts
>>> facts = public_facts(n_rows=1000, n_features=2, model="logistic")
>>> facts.problem.n_rows
1000
"""
