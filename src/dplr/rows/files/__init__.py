"""Rows of CSV and Parquet files, as batches of a bounded size."""
