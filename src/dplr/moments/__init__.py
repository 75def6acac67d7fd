"""Noisy moments of a table, released once: many regressions from them."""
