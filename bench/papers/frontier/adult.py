"""The frontier on Adult."""

from bench.papers.frontier.methods import figure

FIGURE = figure("adult", "Adult")
