"""HHA23, Figure 10 in kind: decision boundaries, heart data."""

from bench.papers.hha23 import descents

FIGURE = descents.boundaries("hha23/figure10", descents.HEART)
