"""The frontier on KDD Cup 99."""

from bench.papers.frontier.methods import figure

FIGURE = figure("kdd", "KDD Cup 99")
