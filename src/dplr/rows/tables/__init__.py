"""Tables of any library as rows.

`table.py` finds columns by name through narwhals and checks their types, `encoder.py` makes columns of the model of
them a block at a time, in compiled code where their memory allows (`native.py`), else in NumPy (`writers.py`).
"""
