"""A budget in a file, from which every fit that names it spends."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections import Counter
from typing import Any

from dplr._validation import sentence
from dplr.ledger import file as ledger_file
from dplr.ledger import transactions
from dplr.ledger.budget import Budget, BudgetExceeded, NullLedger, NullReservation, Reservation
from dplr.ledger.entries import Entry, Terms, day_of, now
from dplr.ledger.rules import Cost, rule_for
from dplr.ledger.terms import (
    Price,
    check_agreement,
    checked_label,
    checked_path,
    checked_terms,
    cost_of,
    refusal,
    rule_of,
)
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement
from dplr.typing import LedgerLike

__all__ = ["Budget", "BudgetExceeded", "Entry", "Ledger", "NullLedger", "NullReservation", "Price", "Reservation"]

# Of a new ledger: what 18 million models by objective perturbation need.
_USUAL_DELTA = 1e-12


class _Held:
    """Entries of one reservation in the file."""

    def __init__(self, ledger: Ledger, token: str, count: int) -> None:
        self._ledger, self._token, self._count = ledger, token, count

    def commit(self) -> None:
        """Record the releases as spent for good; raises unless all entries were still reserved."""
        self._end("committed")

    def refund(self) -> None:
        """Give the budget back."""
        self._end("refunded")

    def _end(self, state: str) -> None:
        with self._ledger._writing() as (connection, _):
            ended = transactions.end(connection, self._token, state)
            if ended != self._count:
                raise RuntimeError(f"a reservation ends once: {ended} of {self._count} entries were still reserved.")


class _Spent:
    """Entries of one reservation in a strict ledger: spent for good. The file is the same however the fit ends."""

    def __init__(self, ledger: Ledger, token: str, count: int) -> None:
        self._ledger, self._token, self._count, self._ended = ledger, token, count, False

    def commit(self) -> None:
        """Write nothing; raises if an entry is not in the file, or if the reservation had already ended."""
        with self._ledger._reading() as (connection, _):
            found = transactions.committed(connection, self._token)
        if self._ended or found != self._count:
            raise RuntimeError(f"a reservation ends once, and stays: {found} of {self._count} entries are there.")
        self._ended = True

    def refund(self) -> None:
        """Write nothing and give nothing back. Never raises: that would show the error of the fit as its context."""
        self._ended = True


class Ledger:
    """A privacy budget in a file: every fit that names it spends from it, in whatever process it runs.

    A fit *reserves* its cost before it reads a row, and *commits* it before it returns. Reserved counts as spent: a
    crash never gives budget back. A fit that fails before any noise was drawn is *refunded* and costs nothing. In a
    strict ledger what is reserved is committed at once, and nothing that happens afterwards is written.

    Parameters
    ----------
    path : the file, on a local disk. It is made where it does not exist; then `eps` is required.
    eps, delta : the whole budget. None takes what the file says; other numbers than the file's are refused. A new
        ledger of basic composition has a delta of 1e-12 where none is given: room for the 2^-64 of each model by
        objective perturbation, which is what `mechanism="auto"` takes without a delta. With ``delta=0`` every release
        must be pure.
    composition : how costs add up: `"basic"` (the default of a new ledger; eps and delta add), `"zcdp"` (for many
        releases and delta > 0), `"gdp"` (for many with Gaussian noise), or `"pld"` (dp-accounting, extra `accounting`;
        for releases whose guarantees were all fixed in advance). See docs/use/ledger.md.
    neighbouring : the relation of all releases, `"replace_one"` (of a new ledger) or `"add_remove"`.
    strict : for analysts who are not the data holder: nothing is given back once a row was read, faults of the data are
        neither shown nor written, labels must be declared.
    label : what the data are called in new entries; see `labelled`.

    Raises
    ------
    ValueError, TypeError
        A parameter breaks a rule or differs from the file, or the file is not a ledger.
    OSError
        The file cannot be made, read or written.

    Privacy
    -------
    The releases that a ledger took have at most its loss together, under its relation (composition.md, section 3). It
    holds the statements: public facts and no data. Unless it is strict, the states and times of its entries depend on
    the data where fits failed: they are for the data holder. It cannot know of fits without it, of a copy of the file
    that is put back, or of other data about the same people.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "census.ledger")
    >>> ledger = dplr.Ledger(path, eps=1.0)
    >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.4)
    >>> print(plan.cost(ledger))
    costs eps = 0.4, delta = 5.42101e-20; remaining before (eps = 1, delta = 1e-12), after (eps = 0.6, delta = 1e-12)
    >>> ledger.remaining()
    (1.0, 1e-12)
    """

    __slots__ = ("_id", "_strict", "label", "path")
    path: str
    label: str | None

    def __init__(
        self,
        path: str | os.PathLike[str],
        eps: float | None = None,
        delta: float | None = None,
        composition: str | None = None,
        neighbouring: str | None = None,
        strict: bool | None = None,
        *,
        label: str | None = None,
    ) -> None:
        self.path = checked_path(path)
        self.label = checked_label(label)
        asked = checked_terms(eps, delta, composition, neighbouring, strict)
        if eps is not None and not os.path.lexists(self.path):
            self._create(asked)
        self._id = ""
        with transactions.reading(self.path) as (_, terms):
            check_agreement(asked, terms, self.path)
        self._id, self._strict = terms.id, terms.strict

    def _create(self, asked: dict[str, Any]) -> None:
        defaults: dict[str, Any] = {"composition": "basic", "neighbouring": "replace_one", "strict": False}
        given = defaults | asked
        given.setdefault("delta", _USUAL_DELTA if given["composition"] == "basic" else 0.0)
        terms = Terms(id=secrets.token_hex(16), created=day_of(now()) if given["strict"] else now(), **given)
        rule_for(terms.composition, terms.eps, terms.delta, Neighbouring(terms.neighbouring))
        with contextlib.suppress(FileExistsError):  # another was faster: its terms are compared like those of any file
            ledger_file.create(self.path, terms)

    @property
    def strict(self) -> bool:
        """Whether nothing is given back and no fault of the data is shown."""
        return self._strict

    def labelled(self, label: str | None) -> Ledger:
        """The same ledger, whose new entries say what the data are called.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> ledger.labelled("census 2024").label
        'census 2024'
        """
        return _handle(self.path, self._id, self._strict, checked_label(label))

    def reserve(self, *statements: PrivacyStatement) -> Reservation:
        """Set the cost of all statements aside, or none of it.

        Raises
        ------
        BudgetExceeded
            They do not fit; nothing was spent.
        ValueError
            A statement promises nothing, was seeded, or speaks of another relation.
        """
        with self._writing() as (connection, terms):
            priced = [(cost_of(statement, terms), statement) for statement in statements]
            spent, rule = transactions.costs(connection), rule_of(terms)
            if not rule.fits(_added(spent, [cost for cost, _ in priced])):
                raise BudgetExceeded(refusal(self.path, terms, rule.remaining(spent), statements))
            token = secrets.token_hex(16)
            transactions.insert(connection, token, self.label, priced, terms.strict)
        return (_Spent if terms.strict else _Held)(self, token, len(statements))

    def price(self, *statements: PrivacyStatement) -> Price:
        """What statements would cost, and whether they fit now. Reads no data and spends nothing.

        Raises
        ------
        ValueError
            A statement promises nothing, was seeded, or speaks of another relation.
        """
        with self._reading() as (connection, terms):
            costs = [cost_of(statement, terms) for statement in statements]
            spent, rule = transactions.costs(connection), rule_of(terms)
        after, before = _added(spent, costs), rule.remaining(spent)
        alone = rule.spent(_added({}, costs)) if len(costs) != 1 else (costs[0].eps, costs[0].delta)
        fits = rule.fits(after)
        return Price(fits, *alone, before, rule.remaining(after) if fits else None)

    def remaining(self) -> tuple[float, float]:
        """The (eps, delta) that one further release could have if it states only (eps, delta), rounded down.

        With composition `"pld"` it is a pure release: delta is 0. Gaussian releases may fit where these do not.
        """
        with self._reading() as (connection, terms):
            return rule_of(terms).remaining(transactions.costs(connection))

    def spent(self) -> tuple[float, float]:
        """(eps, delta) of all entries that are reserved or committed, composed by the ledger's rule, rounded up."""
        with self._reading() as (connection, terms):
            return rule_of(terms).spent(transactions.costs(connection))

    def entries(self) -> list[Entry]:
        """All entries in their order, the refunded ones too."""
        with self._reading() as (connection, _):
            return transactions.entries(connection)

    def terms(self) -> Terms:
        """What the ledger was made with: eps, delta, composition, neighbouring, strict, created."""
        with self._reading() as (_, terms):
            return terms

    def _writing(self) -> contextlib.AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        return transactions.writing(self.path, self._id)

    def _reading(self) -> contextlib.AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        return transactions.reading(self.path, self._id)

    # The ledger is its file: a copy of this object, also in another process, is another handle of that file.
    def __reduce__(self) -> tuple[Any, ...]:
        return _handle, (self.path, self._id, self._strict, self.label)

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, _: Any) -> Ledger:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self.__reduce__()[1])

    def __repr__(self) -> str:
        label = "" if self.label is None else f", label={self.label!r}"
        return f"Ledger({self.path!r}{label})"


def _handle(path: str, identity: str, strict: bool, label: str | None) -> Ledger:
    """A handle of a ledger that was opened before; the file is looked at when it is used."""
    ledger = Ledger.__new__(Ledger)
    ledger.path, ledger._id, ledger._strict, ledger.label = path, identity, strict, label
    return ledger


def as_ledger(ledger: LedgerLike) -> Ledger | NullLedger:
    """None, a ledger, or the path of one that exists."""
    if ledger is None:
        return NullLedger()
    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, str | os.PathLike):
        raise TypeError(sentence("ledger", "must be None, a dplr.Ledger or the path of one", ledger))
    return Ledger(ledger)


def _added(spent: dict[Cost, int], costs: list[Cost]) -> dict[Cost, int]:
    return dict(Counter(spent) + Counter(costs))
