"""Queries that rows can sum."""
