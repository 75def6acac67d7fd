"""A linear model made of released moments."""
