"""Scores of a peer on tables that `frontier` wrote, at every eps and setting; runs with the peer's own Python.

    <python of the peer> bench/peers/frontier_worker.py diffprivlib|opacus FOLDER

prints one line of JSON for each fit: table, peer, setting, delta, eps, repeat, and its scores.
"""

import functools
import json
import sys
import warnings
from pathlib import Path

import numpy as np

# A fit of opacus takes many seconds: it has fewer levels.
LEVELS = {"diffprivlib": (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), "opacus": (0.1, 1.0, 5.0)}
DELTA = 1e-6
REPEATS = {"diffprivlib": 5, "opacus": 2}
# C of scikit-learn, whose default is 1; learning rates of plain descent, of which the tutorials take 0.1.
SETTINGS = {"diffprivlib": (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0), "opacus": (0.1, 1.0, 8.0)}
EPOCHS, CLIP, BATCH = 10, 1.0, 256


def scores(probabilities, y):
    """Test error, AUC and log-loss of probabilities of a yes."""
    p = np.clip(probabilities, 1e-15, 1 - 1e-15)
    order = np.argsort(p, kind="stable")
    _, first, count = np.unique(p[order], return_index=True, return_counts=True)
    ranks = np.repeat(first + (count + 1) / 2, count)
    yes = y[order] > 0
    auc = (ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum())
    loss = -np.mean(np.where(y > 0, np.log(p), np.log1p(-p)))
    return {"error": float(np.mean((p > 0.5) != (y > 0))), "auc": float(auc), "log_loss": float(loss)}


def r2(predictions, y):
    """R2 of predictions clipped to the bounds of the target, as ours are."""
    return {"r2": float(1 - np.mean((np.clip(predictions, -1, 1) - y) ** 2) / np.var(y))}


def diffprivlib(table, eps, setting):
    """Its model of rows in the unit ball, their numbers in a cube; linear regression has no setting."""
    from diffprivlib.models import LinearRegression, LogisticRegression

    X, y, c = table["X"], table["y"], float(table["half_width"])
    if str(table["model"]) == "logistic":
        est = LogisticRegression(epsilon=eps, data_norm=1.0, C=setting, max_iter=500).fit(X, y)
        return scores(est.predict_proba(table["held_X"])[:, 1], table["held_y"])
    est = LinearRegression(epsilon=eps, bounds_X=(-c, c), bounds_y=(-1.0, 1.0)).fit(X, y)
    return r2(est.predict(table["held_X"]), table["held_y"])


@functools.cache
def multiplier(eps, rate):
    """The noise of opacus' own accountant, as its `make_private_with_epsilon` asks for it; found once."""
    from opacus.accountants.utils import get_noise_multiplier

    options = {"target_delta": DELTA, "sample_rate": rate, "epochs": EPOCHS, "accountant": "prv"}
    return get_noise_multiplier(target_epsilon=eps, **options)


def opacus(table, eps, setting):
    """DP-SGD of one linear layer: 10 epochs, clip 1, batches of 256 or of 1 % of the rows where that is more."""
    import torch
    from opacus import PrivacyEngine
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    X, y = torch.from_numpy(table["X"]).float(), torch.from_numpy(table["y"]).float()[:, None]
    logistic = str(table["model"]) == "logistic"
    loss = nn.BCEWithLogitsLoss() if logistic else nn.MSELoss()
    layer = nn.Linear(X.shape[1], 1)
    nn.init.zeros_(layer.weight), nn.init.zeros_(layer.bias)
    batch = min(max(BATCH, len(X) // 100), len(X) // 4)

    class Rows(TensorDataset):
        """Hands out a whole batch at once: rows one by one would take ten times longer."""

        def __getitems__(self, places):
            return self[places]

    data = DataLoader(Rows(X, y), batch_size=batch, collate_fn=tuple)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=layer, optimizer=torch.optim.SGD(layer.parameters(), lr=setting), data_loader=data,
        noise_multiplier=multiplier(eps, 1 / len(data)), max_grad_norm=CLIP,
    )  # fmt: skip
    for _ in range(EPOCHS):
        for rows, targets in loader:
            optimizer.zero_grad()
            loss(model(rows), targets).backward()
            optimizer.step()
    with torch.no_grad():
        found = layer(torch.from_numpy(table["held_X"]).float())[:, 0].double()
    if logistic:
        return scores(torch.sigmoid(found).numpy(), table["held_y"])
    return r2(found.numpy(), table["held_y"])


def main(peer, folder):
    warnings.simplefilter("ignore")
    fitted, delta = {"diffprivlib": (diffprivlib, 0.0), "opacus": (opacus, DELTA)}[peer]
    for path in sorted(Path(folder).glob("*.npz")):
        table = dict(np.load(path))
        settings = SETTINGS[peer] if peer == "opacus" or str(table["model"]) == "logistic" else (1.0,)
        for eps in LEVELS[peer]:
            for setting in settings:
                for repeat in range(REPEATS[peer]):
                    line = {"table": path.stem, "peer": peer, "setting": setting, "delta": delta, "eps": eps}
                    try:
                        line |= {"repeat": repeat, "scores": fitted(table, eps, setting)}
                    except ValueError as error:  # opacus finds no noise for some eps
                        print(path.stem, eps, setting, error, file=sys.stderr)
                        break
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
