"""HHA23, Figure 4 in kind: loss curves, heart data, without pre-training."""

from bench.papers.hha23 import descents

FIGURE = descents.loss_curves("hha23/figure4", descents.HEART, "without")
