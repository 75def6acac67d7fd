"""The frontier on ACS 2k."""

from bench.papers.frontier.methods import figure

FIGURE = figure("acs_2k", "ACS 2k")
