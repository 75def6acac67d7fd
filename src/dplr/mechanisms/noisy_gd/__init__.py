"""Noisy gradient descent: `noise.py` plans from public facts, `spec.py` has the options and the descent. Private."""
