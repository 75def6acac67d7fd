"""Rows of CSV and Parquet files, as batches of a bounded size.

`sources.py` finds the files and cuts them into parts; `csv.py` and `parquet.py` read a part. The fields of a CSV file
become numbers or text by the declared bounds alone, each field by itself: no value decides the type of another one.
"""
