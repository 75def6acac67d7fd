"""HHA23, Figure 11 in kind: decision boundaries, synthetic twin."""

from bench.papers.hha23 import descents

FIGURE = descents.boundaries("hha23/figure11", descents.TWIN)
