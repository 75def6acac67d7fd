"""Many small cases in one test: collecting, sending and reporting a test of its own costs more than such a case."""

import functools
import inspect


def loop(names, values):
    """Call a test with one value after another, where `parametrize` makes a test for each.

    names : the argument, or a tuple of arguments.
    values : its values, or tuples of theirs. The first failure ends the test and says its values in a note.
    """
    several = isinstance(names, tuple)
    cases = [dict(zip(names, value, strict=True)) if several else {names: value} for value in values]
    assert cases

    def decorate(test):
        @functools.wraps(test)
        def looping(**arguments):
            for case in cases:
                try:
                    test(**arguments, **case)
                except BaseException as error:
                    error.add_note("With " + ", ".join(f"{name} = {value!r}" for name, value in case.items()))
                    raise

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in cases[0]]
        looping.__signature__ = signature.replace(parameters=rest)
        return looping

    return decorate
