"""Options of a fit are declared once: whatever takes them has their defaults, rules and words."""

import inspect

import pytest

import dplr
from dplr.estimators._models import ESTIMATORS, OWN
from dplr.fitting.options import _DECLARED, _SECTION, _entries, declared, documented, entry_of

MODELS = [*ESTIMATORS.values(), *OWN.values()]


def parameters(thing):
    parts = _SECTION.split(inspect.cleandoc(thing.__doc__))
    return _entries(parts[parts.index("Parameters") + 1])


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_describes_every_option_and_every_attribute_once(kind):
    assert list(parameters(kind)) == list(inspect.signature(kind).parameters)
    for name in ("coef_", "intercept_", "privacy_", "released_", "ranges_"):
        assert inspect.cleandoc(kind.__doc__).count(f"\n{name} : ") == 1


@pytest.mark.parametrize("thing", [dplr.fit, dplr.plan, *MODELS])
def test_whatever_takes_options_has_their_defaults_and_words(thing):
    """An own entry is of an option that is another thing there."""
    own = {"person", "bounds", "mechanism", "class_weight", "n_rows"}
    taken, entries = inspect.signature(thing).parameters, parameters(thing)
    options = {each.name: each for each in declared() if each.name in taken}
    assert len(options) > 10
    for name, option in options.items():
        if taken[name].default is not inspect.Parameter.empty:
            assert taken[name].default == option.default
        assert entries[name] == entry_of(name, taken[name].default) or name in own


def test_defaults_keep_their_rules_and_fit_takes_every_option():
    assert set(_DECLARED) < set(inspect.signature(dplr.fit).parameters)
    for option in _DECLARED.values():
        if option.metadata["rule"] is not None:
            option.metadata["rule"](option.default)


def test_entries_are_filled_in_in_the_order_of_the_signature_and_own_ones_stay():
    class Base:
        """A base.

        Attributes
        ----------
        one_, two_ : int
            Two numbers.
        """

    Base.__module__ = "dplr.made"

    @documented
    class Made(Base):
        """A thing.

        Parameters
        ----------
        delta : int
            Another delta.

        Attributes
        ----------
        three_ : int
            A number.

        Notes
        -----
        A note.
        """

        def __init__(self, *, l2="auto", delta=0):
            self.l2, self.delta = l2, delta

    assert Made.__doc__.split("\n\n") == [
        "A thing.",
        f"Parameters\n----------\n{entry_of('l2', 'auto')}\ndelta : int\n    Another delta.",
        "Attributes\n----------\none_, two_ : int\n    Two numbers.\nthree_ : int\n    A number.",
        "Notes\n-----\nA note.\n",
    ]


def test_without_docstrings_nothing_is_filled_in():
    def bare(delta):
        return delta

    assert documented(bare).__doc__ is None
