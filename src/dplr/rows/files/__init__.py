"""Rows of files, as batches of a bounded size.

`sources.py` finds the files and cuts them into parts; `csv.py`, `parquet.py` and `labelled.py` read a part, which
`part.py` describes. Except in Parquet files, fields become numbers or text by the declared bounds alone, each field by
itself: no value decides the type of another one.
"""
