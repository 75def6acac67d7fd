"""A private choice among models: tuning.md. Private."""
