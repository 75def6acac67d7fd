"""Tables of any library as rows: `table.py` has what was given, `values.py` reads a column, `encoder.py` makes columns
of the model, and `survey.py` counts what a column holds.
"""
