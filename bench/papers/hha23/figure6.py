"""HHA23, Figure 6 in kind: loss curves, synthetic twin, without pre-training."""

from bench.papers.hha23 import descents

FIGURE = descents.loss_curves("hha23/figure6", descents.TWIN, "without")
