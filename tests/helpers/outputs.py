"""Whether a program printed the output that a page shows."""

import doctest
import re

NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
BLANK = re.compile(r"\s+")
RULE = re.compile(r"-{5,}")  # above and below a table, as wide as its numbers


def same(found, shown, one_run):
    """Equal where "..." stands for anything, and with `one_run` every number for any other."""
    texts = [BLANK.sub(" ", text.strip()) for text in (shown, found)]
    if one_run:
        texts = [NUMBER.sub("#", RULE.sub("-----", text)) for text in texts]
    return doctest.OutputChecker().check_output(*texts, doctest.ELLIPSIS)
