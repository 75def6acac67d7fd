"""A budget in a file, from which every fit that names it spends."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from itertools import chain, repeat
from typing import Any, overload

from dplr._validation import check_count, sentence
from dplr.ledger import file as ledger_file
from dplr.ledger import transactions
from dplr.ledger.allotment import Allotment, piece_of
from dplr.ledger.budget import BudgetExceeded, NullLedger, Reservation, Stated
from dplr.ledger.entries import Entry, Terms, day_of, now
from dplr.ledger.job import Job
from dplr.ledger.recording import Recording
from dplr.ledger.recovery import Recovery
from dplr.ledger.reservation import reservation_of
from dplr.ledger.room import Limit, Room, counted
from dplr.ledger.rules import rule_for
from dplr.ledger.terms import (
    Price,
    check_agreement,
    check_share_agreement,
    checked_kind,
    checked_path,
    checked_share,
    checked_terms,
    checked_text,
    cost_of,
    price_of,
    refusal,
    rule_of,
    statements_of,
)
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement
from dplr.typing import LedgerLike

# Of a new ledger: what 18 million models by objective perturbation need.
_USUAL_DELTA = 1e-12


class Ledger(Recovery):
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
    unit : what all releases protect: None for one record (of a new ledger), or what tells persons apart, as `person` of
        a fit names it, for one person with all their rows. A release that protects something else is refused.

    Raises
    ------
    ValueError, TypeError
        A parameter breaks a rule or differs from the file, or the file is not a ledger.
    OSError
        The file cannot be made, read or written.

    Privacy
    -------
    The releases that a ledger took have at most its loss together, under its relation and about its unit
    (composition.md, section 3). It holds the statements: public facts and no data. Unless it is strict, the states and
    times of its entries depend on the data where fits failed: they are for the data holder. It cannot know of fits
    without it, of a copy of the file that is put back, or of other data about the same people.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "census.ledger")
    >>> ledger = dplr.Ledger(path, eps=1.0)
    >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm")
    >>> print(plan.cost(ledger))
    costs eps = 0.4, delta = 0; remaining before (eps = 1, delta = 1e-12), after (eps = 0.6, delta = 1e-12)
    >>> ledger.remaining()
    (1.0, 1e-12)
    >>> visits = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "visits.ledger"), eps=1.0, unit="patient")
    >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm", person="patient")
    >>> plan.cost(visits).fits
    True
    """

    __slots__ = ("_id", "_share", "_strict", "label", "path")
    path: str
    label: str | None
    _share: str | None

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
        unit: str | None = None,
    ) -> None:
        self.path = checked_path(path)
        self.label = None if label is None else checked_text("label", label)
        self._share = None
        asked = checked_terms(eps, delta, composition, neighbouring, strict, unit)
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
        label = None if label is None else checked_text("label", label)
        return _handle(self.path, self._id, self._strict, label, self._share)

    def share(self, name: str, eps: float | None = None, delta: float | None = None) -> Ledger:
        """Part of the budget for one analyst: a ledger whose fits spend from the share and from the whole.

        Parameters
        ----------
        name : of the analyst, or of the purpose.
        eps, delta : the limits of a new share, kept in the file and fixed for ever; None opens one that exists. The
            limits of all shares may add up to the ledger's eps and delta, and no more. Without a delta a new share has
            as large a part of the ledger's delta as eps is of its eps.

        Returns
        -------
        A ledger, for `ledger=`. What it says of what is spent, and of entries, is about the share; what remains is the
        smaller of what remains of both.

        Raises
        ------
        ValueError, TypeError
            There is no such share, or it has other limits; or the limits break a rule.

        Privacy
        -------
        The releases of a share together have at most its (eps, delta), and those of all shares and of the ledger itself
        at most the ledger's (composition.md, section 3). A share is a limit and no promise of room: fits that name the
        ledger itself, or other shares, may use it up.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> alice = ledger.share("alice", eps=0.5)
        >>> alice.remaining(), ledger.shares()
        ((0.5, 5e-13), {'alice': (0.5, 5e-13)})
        """
        checked_text("share", name)
        if self._share is not None:
            raise ValueError(sentence("share", "must be of a whole ledger", name, f"This is share {self._share!r}."))
        with self._reading() as (connection, terms):
            known = transactions.shares(connection)
        if eps is not None and name not in known:
            with self._writing() as (connection, terms):
                known = transactions.shares(connection)
                if name not in known:  # nobody was faster
                    limits = checked_share(name, eps, delta, known, terms)
                    transactions.insert_share(connection, name, limits, terms.strict)
                    known[name] = limits
        if name not in known:
            remedy = f"Make it with share(name, eps=...). There are {list(known)}."
            raise ValueError(sentence("share", "must be one that exists", name, remedy))
        check_share_agreement(name, eps, delta, known[name])
        return _handle(self.path, self._id, self._strict, self.label, name)

    def shares(self) -> dict[str, tuple[float, float]]:
        """The limits (eps, delta) of every share by its name, in the order in which they were made."""
        with self._reading() as (connection, _):
            return transactions.shares(connection)

    @overload
    def reserve(
        self, *statements: PrivacyStatement | Stated, fits: None = None, fingerprint: str | None = None
    ) -> Reservation: ...
    @overload
    def reserve(self, *statements: PrivacyStatement | Stated, fits: int) -> Allotment: ...
    def reserve(
        self, *statements: PrivacyStatement | Stated, fits: int | None = None, fingerprint: str | None = None
    ) -> Reservation | Allotment:
        """Set the cost of all statements aside, or none of it; with `fits`, for that many fits that begin later.

        Parameters
        ----------
        statements : of releases, or plans that have one.
        fits : None: one release for each statement, which the caller makes, and then commits or gives back. A number:
            so many fits of each of them. Estimators then name the `Allotment` that is returned as their ledger.
        fingerprint : of the data, for one that may be resumed when its process is gone; see `resume`.

        Raises
        ------
        BudgetExceeded
            They do not fit; nothing was spent.
        ValueError, TypeError
            A statement promises nothing, was seeded, or speaks of another relation; `fits` is not a positive integer.

        Privacy
        -------
        Reads public facts alone. What is set aside counts as spent until it is given back.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.1, mechanism="fm")
        >>> held = ledger.reserve(plan, fits=7)  # six folds and the last fit of a search: ledger=held
        >>> held.unused(), ledger.remaining()
        (7, (0.3, 1e-12))
        """
        said = statements_of(statements, some=fits is not None)
        times = 1 if fits is None else check_count("fits", fits)
        if fingerprint is not None:
            self._check_fingerprint(fingerprint, fits)
        with self._writing() as (connection, terms):
            costs = [cost_of(statement, terms) for statement in said]
            if fits is not None:
                costs = [piece_of(cost) for cost in costs]
            room = self._room(connection, terms)
            if not room.takes(counted(costs, times)):
                raise BudgetExceeded(refusal(self.path, terms, room, costs, times))
            token, holder = secrets.token_hex(16), secrets.token_hex(16) if fits is None else None
            priced = chain.from_iterable(repeat(tuple(zip(costs, said, strict=True)), times))
            transactions.insert(connection, token, self.label, priced, terms.strict, self._share, holder, fingerprint)
        if holder is None:
            return Allotment(self, token)
        recording = None if fingerprint is None else Recording(self.path, token, fingerprint, holder)
        return reservation_of(self, token, holder, len(said), recording)

    def price(self, *statements: PrivacyStatement | Stated, fits: int = 1) -> Price:
        """What statements would cost, and whether they fit now. Reads no data and spends nothing.

        Parameters
        ----------
        statements : of releases, or plans that have one.
        fits : how many releases of each of them.

        Raises
        ------
        ValueError, TypeError
            A statement promises nothing, was seeded, or speaks of another relation; `fits` is not a positive integer.

        Privacy
        -------
        Reads public facts alone.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> ledger.price(dplr.plan(n_rows=1000, n_features=2, eps=0.1, mechanism="fm"), fits=11).fits
        False
        """
        said, times = statements_of(statements, some=True), check_count("fits", fits)
        with self._reading() as (connection, terms):
            room = self._room(connection, terms)
        return price_of(room, terms, [cost_of(statement, terms) for statement in said], times)

    def remaining(self, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        """The (eps, delta) that one further release could have: it fits, and a larger eps or delta does not.

        What is left is no single pair, because kinds of releases cost a budget differently.

        Parameters
        ----------
        kind : `"approx"`: a release that states (eps, delta) and nothing simpler, such as objective perturbation and
            Poisson batches. `"pure"`: one with delta = 0. `"gaussian"`: one whose Gaussian noise was calibrated to
            (eps, delta), such as noisy gradient descent in full batches; its `delta` must be given.
        delta : the delta that the release will state; eps is 0 where that much is not left. None: all that is left.

        Returns
        -------
        (eps, delta). With composition `"basic"` all kinds have the same eps. With `"pld"` an approximate release
        without a delta given is a pure one, and the search stops at a 10^-7 part of eps, or at the accountant's grid,
        which is a 10^-4 part of the ledger's eps. What is left of the ten million numbers of `"gdp"` is not looked at
        beyond whether there are any.

        Raises
        ------
        ValueError, TypeError
            The kind is unknown, or its delta is missing, not allowed or out of its range.

        Privacy
        -------
        Reads public facts alone.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "budget")
        >>> ledger = dplr.Ledger(path, eps=1.0, delta=1e-5, composition="zcdp")
        >>> ledger.remaining(), ledger.remaining("pure")
        ((1.0, 5e-06), (1.0, 0.0))
        >>> ledger.remaining("gaussian", delta=1e-6)[0] > 1
        True
        """
        delta = checked_kind(kind, delta)
        with self._reading() as (connection, terms):
            room = self._room(connection, terms)
        return room.remaining(kind, delta)

    def spent(self) -> tuple[float, float]:
        """(eps, delta) of all entries that are not refunded, composed by the ledger's rule, rounded up."""
        with self._reading() as (connection, terms):
            return self._room(connection, terms).spent()

    def entries(self) -> list[Entry]:
        """All entries in their order, the refunded ones too."""
        with self._reading() as (connection, _):
            found = transactions.entries(connection)
        return [entry for entry in found if self._share in (None, entry.share)]

    def terms(self) -> Terms:
        """What the ledger was made with: eps, delta, composition, neighbouring, strict, created, unit."""
        with self._reading() as (_, terms):
            return terms

    def _room(self, connection: sqlite3.Connection, terms: Terms) -> Room:
        """What the share has room for, if this is one, and the whole."""
        whole = Limit(rule_of(terms), transactions.costs(connection), None)
        if self._share is None:
            return Room((whole,))
        limits = transactions.shares(connection)[self._share]
        rule = rule_for(terms.composition, *limits, Neighbouring(terms.neighbouring))
        return Room((Limit(rule, transactions.costs(connection, self._share), self._share), whole))

    def _writing(self) -> contextlib.AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        return transactions.writing(self.path, self._id)

    def _reading(self) -> contextlib.AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        return transactions.reading(self.path, self._id)

    def _itself(self) -> Ledger:
        return self

    # The ledger is its file: a copy of this object, also in another process, is another handle of that file.
    def __reduce__(self) -> tuple[Any, ...]:
        return _handle, (self.path, self._id, self._strict, self.label, self._share)

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
        share = "" if self._share is None else f".share({self._share!r})"
        return f"Ledger({self.path!r}{label}){share}"


def _handle(path: str, identity: str, strict: bool, label: str | None, share: str | None = None) -> Ledger:
    """A handle of a ledger that was opened before; the file is looked at when it is used."""
    ledger = Ledger.__new__(Ledger)
    ledger.path, ledger._id, ledger._strict, ledger.label, ledger._share = path, identity, strict, label, share
    return ledger


def as_ledger(ledger: LedgerLike) -> Ledger | Allotment | Job | NullLedger:
    """None, a ledger, what was set aside in one, a job of one, or the path of one that exists."""
    if ledger is None:
        return NullLedger()
    if isinstance(ledger, Ledger | Allotment | Job):
        return ledger
    if not isinstance(ledger, str | os.PathLike):
        raise TypeError(sentence("ledger", "must be None, a dplr.Ledger or the path of one", ledger))
    return Ledger(ledger)
