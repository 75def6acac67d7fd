"""Private choices among models: how often a search runs, what each run may cost, which model it takes. tuning.md.

Private.
"""
