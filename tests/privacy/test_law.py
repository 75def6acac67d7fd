"""The law of noise is a value: a misspelt one is refused, and a ledger charges the numbers of every Gaussian one."""

import ast
import copy
import pathlib
import pickle

import pytest

import dplr
from dplr.privacy import Law, Neighbouring, PrivacyStatement, Pure, Release
from dplr.privacy.rules import Cost

SOURCE = pathlib.Path(dplr.__file__).parent
BOTH = "discrete Laplace and discrete Gaussian"
# For every law: its words; whether it counts as Gaussian, and as discrete; and the words of the law of its vector.
KINDS = {
    Law.NONE: ("none", False, False, "none"),
    Law.DISCRETE_LAPLACE: ("discrete Laplace", False, True, "discrete Laplace"),
    Law.DISCRETE_GAUSSIAN: ("discrete Gaussian", True, True, "discrete Gaussian"),
    Law.NORM_GAMMA: ("norm-Gamma", False, False, "norm-Gamma"),
    Law.GAUGE: ("gauge", False, False, "gauge"),
    Law.GAUSSIAN: ("Gaussian", True, False, "Gaussian"),
    Law.NORM_GAMMA_IN_OBJECTIVE: ("norm-Gamma in the objective", False, False, "norm-Gamma"),
    Law.GAUGE_IN_OBJECTIVE: ("gauge in the objective", False, False, "gauge"),
    Law.GAUSSIAN_IN_OBJECTIVE: ("Gaussian in the objective", True, False, "Gaussian"),
    Law.SUM_OF_DISCRETE_LAPLACE: ("sum of discrete Laplace", False, False, "sum of discrete Laplace"),
    Law.SUM_OF_DISCRETE_GAUSSIAN: ("sum of discrete Gaussian", True, False, "sum of discrete Gaussian"),
    Law.SUM_OF_BOTH: (f"sum of {BOTH}", True, False, f"sum of {BOTH}"),
}
LAPLACE, GAUSSIAN = Law.DISCRETE_LAPLACE, Law.DISCRETE_GAUSSIAN
SUMS = [
    (set(), Law.NONE),
    ({LAPLACE}, Law.SUM_OF_DISCRETE_LAPLACE),
    ({GAUSSIAN}, Law.SUM_OF_DISCRETE_GAUSSIAN),
    ({GAUSSIAN, LAPLACE}, Law.SUM_OF_BOTH),
]
UNKNOWN = [
    "discrete Gausian", "gaussian", "", "sum of", "sum of Gaussian", "sum of 2 discrete Gaussian", None, ["none"],
    "sum of discrete Gaussian and discrete Laplace", "discrete Gaussian in the objective",
]  # fmt: skip


def cost(law):
    """Of a statement with 3 numbers of this law and 5 by 2 exact ones."""
    statement = PrivacyStatement(
        mechanism="fm", eps=1.0, delta=0.0, guarantee=Pure(1.0), neighbouring=Neighbouring.ADD_REMOVE,
        released={"a": Release((3,), 1.0, law, 1.0, 0.0), "b": Release((5, 2), 0.0, Law.NONE, 0.0, 0.0)},
        calibration="", assumptions=(), arithmetic="integer", reproducible=False, source="",
    )  # fmt: skip
    return Cost.of(statement)


def test_every_law_has_its_words_and_kinds():
    assert list(Law) == list(KINDS)
    for law, (words, gaussian, discrete, family) in KINDS.items():
        assert (str(law), law.gaussian, law.discrete, str(law.family)) == (words, gaussian, discrete, family)
        assert (law, hash(law)) == (words, hash(words))
        assert Law(words) is law


@pytest.mark.parametrize("law", KINDS)
def test_a_ledger_charges_the_numbers_of_a_gaussian_law(law):
    assert cost(law).draws == cost(str(law)).draws == (3 if KINDS[law][1] else 0)


@pytest.mark.parametrize(("laws", "law"), SUMS)
def test_the_law_of_a_sum_is_gaussian_where_one_of_its_terms_is(laws, law):
    assert Law.of_sum(laws) is law
    assert law.gaussian == any(term.gaussian for term in laws)
    for again in (pickle.loads(pickle.dumps(law)), copy.deepcopy(law)):
        assert again is law


def test_other_noises_have_no_law_of_their_sum():
    with pytest.raises(KeyError):
        Law.of_sum({Law.GAUGE})


def test_the_objective_has_laws_of_vectors():
    for law in (Law.NORM_GAMMA, Law.GAUGE, Law.GAUSSIAN):
        assert law.in_the_objective() == f"{law} in the objective"
        assert law.in_the_objective().family is law
    assert Law.NONE.in_the_objective() is Law.NONE


@pytest.mark.parametrize("law", UNKNOWN, ids=str)
def test_no_block_has_an_unknown_law(law):
    with pytest.raises(ValueError, match=r"`law` must be one of 'none', .*; got .*\. Use a member of dplr.privacy.Law"):
        Release((3,), 1.0, law, 1.0, 0.0)


def test_the_law_of_a_block_is_a_member():
    block = Release((3,), 1.0, "norm-Gamma", 1.0, 0.0)
    assert block.law is Law.NORM_GAMMA
    assert pickle.loads(pickle.dumps(block)).law is Law.NORM_GAMMA


def is_law(node):
    """Whether an expression is a law: `law`, or an attribute of that name."""
    return (node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")) == "law"


def readings_of_words(source):
    """Lines that decide by a part of a law's words, or by words instead of a member."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            words = any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)
            if words and any(map(is_law, sides)):
                yield node.lineno
        if isinstance(node, ast.Attribute) and is_law(node.value) and hasattr(str, node.attr):
            yield node.lineno


def test_no_code_reads_the_words_of_a_law():
    planted = '"Gaussian" in block.law\nlaw.startswith("gauge")\nblock.law == "none"\nlaw is Law.NONE\nlaw.gaussian'
    assert set(readings_of_words(planted)) == {1, 2, 3}
    density = SOURCE / "auditor" / "density.py"  # has a vocabulary of its own, for what is not released by dplr
    paths = [path for path in SOURCE.rglob("*.py") if path != density]
    assert len(paths) > 200
    assert {str(path): lines for path in paths if (lines := list(readings_of_words(path.read_text("utf-8"))))} == {}
