"""Regression tables of fitted models: estimates, intervals and what they mean, from released numbers alone. Private."""
