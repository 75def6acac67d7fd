"""The frontier of linear regression: income in the American Community Survey, at three sizes."""

from bench.papers.frontier.methods import figure

FIGURE = figure("income", "ACS income 2k", "ACS income 20k", "ACS income 200k")
