"""Tools without a domain: checks of arguments, warnings, options of constructors, files, progress.

They import nothing of the package but each other, and every room may import them.
"""
