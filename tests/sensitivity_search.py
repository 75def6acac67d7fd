"""Search for the worst neighbours by projected subgradient ascent from many starts, in batches."""

import numpy as np


def change(x, s, other, t, linear, quadratic, iota, count_cell=False):
    """L1 change of (linear * y (x, iota), quadratic * triangle) between records (x, s) and (other, t); batched."""
    i, j = np.triu_indices(x.shape[1])
    value = linear * (np.abs(s * x - t * other).sum(1) + iota * np.abs(s - t).ravel())
    value = value + quadratic * np.abs(x[:, i] * x[:, j] - other[:, i] * other[:, j]).sum(1)
    value = value + quadratic * iota * np.abs(x - other).sum(1)
    return value + (quadratic * iota**2 if count_cell else 0.0)


def gradient(x, s, other, t, linear, quadratic, iota):
    """A subgradient of `change` in x."""
    signs = np.sign(x[:, :, None] * x[:, None, :] - other[:, :, None] * other[:, None, :])
    slopes = np.einsum("bij,bj->bi", signs, x) + np.einsum("bii,bi->bi", signs, x)
    return linear * s * np.sign(s * x - t * other) + quadratic * (slopes + iota * np.sign(x - other))


def project(x, domain, c):
    if domain == "ball":
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True) / c, 1.0)
    return np.clip(x, 0.0 if domain == "corner" else -c, c)


def starts(rng, d, domain, c, count):
    """Random points of the domain, half of them with equal magnitudes, where many worst cases lie."""
    x = rng.normal(size=(count, d))
    x[::2] = np.sign(x[::2]) * rng.choice([1.0, 0.9, 0.5], size=(len(x[::2]), 1))
    return project((np.abs(x) if domain == "corner" else x) * 10, domain, c)


def worst_change(d, domain, c, linear, quadratic, iota, relation, seed=0, count=300, steps=200):
    """Largest change found between neighbours with rows in the domain (ball of radius c, or cube of half-width c)."""
    rng = np.random.default_rng(seed)
    best = 0.0
    for t in (1.0, -1.0) if relation == "replace_one" else (0.0,):
        s = np.ones((count, 1))
        x, other = starts(rng, d, domain, c, count), starts(rng, d, domain, c, count)
        other[: count // 2] = x[: count // 2] * (1 if t < 0 else -1)
        if domain != "ball":  # one number describes the worst pair of a cube: try many
            x[::3] = c
            other[::3] = c * np.linspace(0 if domain == "corner" else -1, 1, len(x[::3]))[:, None]
        other = project(other, domain, c)
        if relation != "replace_one":
            other[:] = 0.0
        t = np.full((count, 1), t)
        for step in range(steps):
            value = change(x, s, other, t, linear, quadratic, iota, relation != "replace_one")
            best = max(best, float(value.max()))
            rate = 0.3 * c * (1 - step / steps)
            up = gradient(x, s, other, t, linear, quadratic, iota)
            x_next = project(x + rate * up / (np.linalg.norm(up, axis=1, keepdims=True) + 1e-12), domain, c)
            if relation == "replace_one":
                up = gradient(other, t, x, s, linear, quadratic, iota)
                other = project(other + rate * up / (np.linalg.norm(up, axis=1, keepdims=True) + 1e-12), domain, c)
            x = x_next
    return best
