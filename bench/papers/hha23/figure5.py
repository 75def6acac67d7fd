"""HHA23, Figure 5 in kind: loss curves, heart data, with pre-training."""

from bench.papers.hha23 import descents

FIGURE = descents.loss_curves("hha23/figure5", descents.HEART, "with")
