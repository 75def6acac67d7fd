"""The frontier on heart."""

from bench.papers.frontier.methods import figure

FIGURE = figure("heart", "heart")
