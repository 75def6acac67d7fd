"""The frontier on ACS 200k."""

from bench.papers.frontier.methods import figure

FIGURE = figure("acs_200k", "ACS 200k")
