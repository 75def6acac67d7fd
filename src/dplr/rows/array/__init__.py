"""Rows of one array or table."""
