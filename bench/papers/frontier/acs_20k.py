"""The frontier on ACS 20k."""

from bench.papers.frontier.methods import figure

FIGURE = figure("acs_20k", "ACS 20k")
