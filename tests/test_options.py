"""One wording for each option, wherever a docstring does not say it in its own words."""

import inspect

import pytest

import dplr
from dplr._kit.options import _SECTION, OPTIONS, _entries, documented
from dplr.estimators import ESTIMATORS, OWN

MODELS = [*ESTIMATORS.values(), *OWN.values()]


def parameters(thing):
    parts = _SECTION.split(inspect.cleandoc(thing.__doc__))
    return _entries(parts[parts.index("Parameters") + 1])


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_describes_every_option_and_every_attribute_once(kind):
    assert list(parameters(kind)) == list(inspect.signature(kind).parameters)
    for name in ("coef_", "intercept_", "privacy_", "released_", "ranges_"):
        assert inspect.cleandoc(kind.__doc__).count(f"\n{name} : ") == 1


def test_fit_has_the_wording_of_the_models():
    """It writes its entries out, since an editor reads the source of the main door."""
    own = {"eps", "person"}  # of another type there
    texts = {name: " ".join(text.split()) for name, text in OPTIONS.items() if name not in own}
    assert {name: " ".join(text.split()) for name, text in parameters(dplr.fit).items() if name in texts} == texts


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
        f"Parameters\n----------\n{OPTIONS['l2']}\ndelta : int\n    Another delta.",
        "Attributes\n----------\none_, two_ : int\n    Two numbers.\nthree_ : int\n    A number.",
        "Notes\n-----\nA note.\n",
    ]


def test_without_docstrings_nothing_is_filled_in():
    def bare(delta):
        return delta

    assert documented(bare).__doc__ is None
