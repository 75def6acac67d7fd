"""HHA23, Figure 7 in kind: loss curves, synthetic twin, with pre-training."""

from bench.papers.hha23 import descents

FIGURE = descents.loss_curves("hha23/figure7", descents.TWIN, "with")
