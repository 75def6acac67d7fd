"""The public side of a fit as frozen values: geometry, loss, problem, plan, fit. Private.

A `Problem` says where scaled rows lie, which loss is minimised, and for whom; a mechanism answers with a `Plan`, which
has the statement; a `Fit` is what it releases. They are compared, pickled and priced without a row.
"""
