"""A budget in a file, from which every fit that names it spends."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from dplr._kit.validation import check_count, sentence
from dplr.ledger import file as ledger_file
from dplr.ledger import outcomes, transactions
from dplr.ledger.allotment import Allotment
from dplr.ledger.budget import NullLedger, Reservation, Stated
from dplr.ledger.entries import Terms, now
from dplr.ledger.keeping import Keeping
from dplr.ledger.recovery import Recovery
from dplr.ledger.reservation import begin, insert
from dplr.ledger.terms import (
    check_agreement,
    check_share_agreement,
    checked_path,
    checked_share,
    checked_terms,
    checked_text,
    statements_of,
)
from dplr.ledger.transactions import LedgerAccess
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.rules import rule_for
from dplr.privacy.statement import PrivacyStatement

LedgerLike: TypeAlias = "Ledger | Allotment | Keeping | str | os.PathLike[str] | None"
"""A `dplr.Ledger`, an `Allotment` or a `Keeping` of one, or the path of an existing ledger; None for no ledger."""

# Default delta of a new ledger: enough for 18 million models by objective perturbation, at 2^-64 each.
_USUAL_DELTA = 1e-12


class Ledger(Recovery):
    """A privacy budget in a file: every fit that names it spends from it, in whatever process it runs.

    A fit *reserves* its cost before it reads a row, and *commits* it before it returns. Reserved counts as spent: a
    crash never gives budget back. A fit that fails before any noise was drawn is *refunded* and costs nothing.

    Parameters
    ----------
    path : str or path-like
        The file, on a local disk. It is made where it does not exist; then `eps` is required.
    eps, delta : float or None, default=None
        The whole budget: eps > 0, delta in [0, 1). None takes what the file says; other numbers than the file's are
        refused. A new ledger of basic composition has a delta of 1e-12 where none is given: room for the 2^-64 of each
        model by objective perturbation, which is what `mechanism="auto"` takes without a delta. With ``delta=0`` every
        release must be pure.
    composition : {"basic", "zcdp", "gdp", "pld"} or None, default=None
        How costs add up: `"basic"` (the default of a new ledger; eps and delta add), `"zcdp"` (for many releases and
        delta > 0), `"gdp"` (for many with Gaussian noise), or `"pld"` (dp-accounting, extra `accounting`; for releases
        whose guarantees were all fixed in advance). See docs/use/ledger.md.
    neighbouring : {"replace_one", "add_remove"} or None, default=None
        The relation of all releases; `"replace_one"` for a new ledger.
    label : str or None, default=None
        What the data are called in new entries; see `labelled`.
    unit : str or None, default=None
        What all releases protect: None for one record (of a new ledger), or what tells persons apart, as `person` of a
        fit names it, for one person with all their rows. A release that protects something else is refused.

    Attributes
    ----------
    path : str
        The file.
    label : str or None
        What the data are called in new entries.

    Raises
    ------
    ValueError, TypeError
        A parameter breaks a rule or differs from the file, or the file is not a ledger.
    OSError
        The file cannot be made, read or written. Here and in all methods: TimeoutError after a wait of 60 seconds for
        others who use the file.

    Privacy
    -------
    The releases that a ledger took have at most its loss together, under its relation and about its unit
    (composition.md, section 3). It holds the statements: public facts and no data. The states and times of its entries
    depend on the data where fits failed: they are for the data holder. With `"pld"` all guarantees must be fixed in
    advance, and the rounding of the accountant is not charged (accounting.md, section 4). It cannot know of fits
    without it, of a copy of the file that is put back, or of other data about the same people.

    See Also
    --------
    dplr.plan : What a fit would cost, before any row is read.
    dplr.ledger.Allotment : Room for a number of fits, such as those of a search.

    References
    ----------
    Rogers, Roth, Ullman and Vadhan 2016 for budgets under adaptive choices of releases; proofs: composition.md.

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

    __slots__ = ()

    def __init__(
        self,
        path: str | os.PathLike[str],
        eps: float | None = None,
        delta: float | None = None,
        composition: str | None = None,
        neighbouring: str | None = None,
        *,
        label: str | None = None,
        unit: str | None = None,
    ) -> None:
        file = checked_path(path)
        label = None if label is None else checked_text("label", label)
        parameters = checked_terms(eps, delta, composition, neighbouring, unit)
        if eps is not None and not os.path.lexists(file):
            _create(file, parameters)
        with transactions.reading(file) as (_, terms):
            check_agreement(parameters, terms, file)
        self._opened = LedgerAccess(file, terms.id, label)

    def labelled(self, label: str | None) -> Ledger:
        """A handle of this ledger with a label for new entries, which names the data.

        Parameters
        ----------
        label : str or None
            Name of the data; None for no name.

        Returns
        -------
        dplr.Ledger
            Another handle of the same file.

        Raises
        ------
        ValueError, TypeError
            The label is empty, is not a text, or cannot be written as UTF-8.

        Privacy
        -------
        Reads no data and spends nothing. The label is written into entries.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> ledger.labelled("census 2024").label
        'census 2024'
        """
        label = None if label is None else checked_text("label", label)
        return _handle(replace(self._opened, label=label))

    def share(self, name: str, eps: float | None = None, delta: float | None = None) -> Ledger:
        """Part of the budget for one analyst: a ledger whose fits spend from the share and from the whole.

        Parameters
        ----------
        name : str
            Name of the analyst, or of the purpose.
        eps, delta : float or None, default=None
            The limits of a new share, kept in the file and fixed for ever; None opens one that exists. The limits of
            all shares may add up to the ledger's eps and delta, and no more. Without a delta a new share has as large a
            part of the ledger's delta as eps is of its eps.

        Returns
        -------
        dplr.Ledger
            The share, for `ledger=`. What it says of what is spent, and of entries, is about the share; what remains is
            the smaller of what remains of both.

        Raises
        ------
        ValueError, TypeError
            There is no such share, or it has other limits; or the limits break a rule.
        OSError
            The file cannot be read or written.

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
        if self._opened.share is not None:
            raise ValueError(
                sentence("share", "must be of a whole ledger", name, f"This is share {self._opened.share!r}.")
            )
        with self._opened.reading() as (connection, terms):
            shares = transactions.shares(connection)
        if eps is not None and name not in shares:
            with self._opened.writing(outcomes.SHARE) as (connection, terms):
                shares = transactions.shares(connection)
                if name not in shares:  # no other process has made it since
                    limits = checked_share(name, eps, delta, shares, terms)
                    transactions.insert_share(connection, name, limits)
                    shares[name] = limits
        if name not in shares:
            remedy = f"Make it with share(name, eps=...). There are {list(shares)}."
            raise ValueError(sentence("share", "must be one that exists", name, remedy))
        check_share_agreement(name, eps, delta, shares[name])
        return _handle(replace(self._opened, share=name))

    def reserve(self, *statements: PrivacyStatement | Stated) -> Reservation:
        """Set the cost of all statements aside, or none of it, for releases that begin now.

        Parameters
        ----------
        *statements : dplr.privacy.PrivacyStatement or dplr.results.Plan
            Statements of the releases to come, or plans that have one.

        Returns
        -------
        dplr.ledger.Reservation
            The entries, which the caller commits or gives back.

        Raises
        ------
        BudgetExceeded
            They do not fit; nothing was spent.
        ValueError, TypeError
            A statement promises nothing, was seeded, or speaks of another relation.
        OSError
            The file cannot be written.

        Privacy
        -------
        Reads no row. What is set aside counts as spent until it is given back. Whether it fits depends on what fits
        that failed have spent, as in `remaining`.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm")).commit()
        >>> ledger.remaining()
        (0.6, 1e-12)
        """
        return begin(self._opened, statements)

    def set_aside(self, *statements: PrivacyStatement | Stated, fits: int) -> Allotment:
        """Set the cost of a number of fits aside, or none of it; they begin later, with the allotment as their ledger.

        Parameters
        ----------
        *statements : dplr.privacy.PrivacyStatement or dplr.results.Plan
            Statements of the releases to come, or plans that have one.
        fits : int
            How many fits of each of them.

        Returns
        -------
        dplr.ledger.Allotment
            The room, for `ledger=` of the fits.

        Raises
        ------
        BudgetExceeded
            They do not fit; nothing was spent.
        ValueError, TypeError
            As in `reserve`; or there is no statement, or `fits` is not a positive integer.
        OSError
            The file cannot be written.

        Privacy
        -------
        As `reserve`.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.1, mechanism="fm")
        >>> allotment = ledger.set_aside(plan, fits=7)  # six folds and the last fit of a search: ledger=allotment
        >>> allotment.unused(), ledger.remaining()
        (7, (0.3, 1e-12))
        """
        releases, times = statements_of(statements, some=True), check_count("fits", fits)
        return Allotment(self, insert(self._opened, releases, "set aside", times))

    def keeping(self, encode: Callable[[Any], bytes]) -> Keeping:
        """A block whose fits leave their files in the ledger, so that a crash before they are saved loses none.

        A model is kept in the step that pays for it. A block that ends without an error has delivered its models: their
        files are dropped. After an error or a crash `recover` returns them, at no further cost.

        Parameters
        ----------
        encode : callable
            Takes a fitted model and returns its file as bytes, such as `dplr.model_file.encode_model`. It is called
            once before anything is reserved too, with zeros for the numbers of the model: one that no file can hold is
            refused. What has no file is committed without: `fit_many`, a `PrivateSearch`, baselines, and every release
            that is no model.

        Returns
        -------
        dplr.ledger.Keeping
            A context manager, for `ledger=` of the fits inside.

        Privacy
        -------
        The file that is kept is the release itself, which is paid for.

        Examples
        --------
        >>> import dplr, numpy as np, os, tempfile
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> X = np.linspace(-0.9, 0.9, 300).reshape(100, 3)
        >>> with ledger.keeping(dplr.model_file.encode_model) as held:
        ...     est = dplr.fit(X, X[:, 0] > 0, eps=0.4, mechanism="fm", ledger=held)
        ...     ledger.kept()  # save the model here
        [1]
        >>> ledger.kept()
        []
        """
        return Keeping(self, encode)

    # A ledger is a handle of a file: a copy, also in another process, stands for the same file.
    def __reduce__(self) -> tuple[Any, ...]:
        return _handle, (self._opened,)

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, _: Any) -> Ledger:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._opened == other._opened

    def __hash__(self) -> int:
        return hash(self._opened)

    def __repr__(self) -> str:
        label = "" if self.label is None else f", label={self.label!r}"
        share = "" if self._opened.share is None else f".share({self._opened.share!r})"
        return f"Ledger({self.path!r}{label}){share}"


def _create(path: str, parameters: dict[str, Any]) -> None:
    """Make the file of a new ledger."""
    defaults: dict[str, Any] = {"composition": "basic", "neighbouring": "replace_one"}
    values = defaults | parameters
    values.setdefault("delta", _USUAL_DELTA if values["composition"] == "basic" else 0.0)
    terms = Terms(id=secrets.token_hex(16), created=now(), **values)
    rule_for(terms.composition, terms.eps, terms.delta, Neighbouring(terms.neighbouring))
    with contextlib.suppress(FileExistsError):  # another process made it first: the caller compares its terms
        ledger_file.create(path, terms)


def _handle(opened: LedgerAccess) -> Ledger:
    """A handle of a ledger that was opened before; the file is looked at when it is used."""
    ledger = Ledger.__new__(Ledger)
    ledger._opened = opened
    return ledger


def as_ledger(ledger: LedgerLike) -> Ledger | Allotment | Keeping | NullLedger:
    """The budget that the parameter `ledger` of a fit names; one without a limit for None."""
    if ledger is None:
        return NullLedger()
    if isinstance(ledger, Ledger | Allotment | Keeping | NullLedger):
        return ledger
    if not isinstance(ledger, str | os.PathLike):
        raise TypeError(sentence("ledger", "must be None, a dplr.Ledger or the path of one", ledger))
    return Ledger(ledger)
