"""The other side of compare_opacus.py: steps of opacus' DP-SGD, timed for each line read, in its own environment."""

import math
import statistics
import sys
import time
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Training:
    """Logistic regression as opacus' tutorials have it: a linear layer, Poisson batches, plain SGD."""

    def __init__(self, X, y, batch, clip, multiplier, learning_rate):
        # Single precision, torch's own: faster for it.
        data = TensorDataset(torch.from_numpy(X).float(), torch.from_numpy(y).float()[:, None])
        self.loss = nn.BCEWithLogitsLoss()
        layer = nn.Linear(X.shape[1], 1)
        self.model, self.optimizer, self.loader = PrivacyEngine(accountant="rdp").make_private(
            module=layer,
            optimizer=torch.optim.SGD(layer.parameters(), lr=learning_rate),
            data_loader=DataLoader(data, batch_size=batch),
            noise_multiplier=multiplier,
            max_grad_norm=clip,
        )
        self.batches = iter(())

    def draw(self):
        """The next Poisson batch."""
        batch = next(self.batches, None)
        while batch is None:
            self.batches = iter(self.loader)
            batch = next(self.batches, None)
        return batch

    def step(self, X, y):
        self.optimizer.zero_grad()
        self.loss(self.model(X), y).backward()
        self.optimizer.step()


def seconds(training, steps):
    """Medians of the whole step, and of the step on a batch that is already there."""
    whole, drawn = [], []
    for _ in range(steps):
        start = time.perf_counter()
        batch = training.draw()
        middle = time.perf_counter()
        training.step(*batch)
        end = time.perf_counter()
        whole.append(end - start)
        drawn.append(end - middle)
    return statistics.median(whole), statistics.median(drawn)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = {}
    for line in sys.stdin:
        folder, batch, clip, multiplier, learning_rate, steps = line.split()
        if folder not in known:
            X, y = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
            known = {folder: Training(X, y, int(batch), float(clip), float(multiplier), float(learning_rate))}
        training = known[folder]
        seconds(training, 20)  # wakes the core, which slept while the other side worked
        times = seconds(training, int(steps))
        weights = [parameter for part in training.model.parameters() for parameter in part.detach().ravel().tolist()]
        assert all(map(math.isfinite, weights))
        print(*times, flush=True)


if __name__ == "__main__":
    main()
