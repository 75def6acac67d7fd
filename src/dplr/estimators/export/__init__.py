"""Released models for other tools: scikit-learn and SQL. One file per tool, over the parts of `parts.py`.

A part is what one declared column adds to the margin: a number with its bounds, or levels with a coefficient each. A
tool that can add up parts and apply the link gives the same predictions as the model, and a new one is a new file.
"""
