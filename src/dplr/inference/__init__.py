"""Intervals from released numbers: knows no rows and no privacy. Proofs: intervals.md. Private."""
