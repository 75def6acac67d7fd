"""A ledger that keeps the files of releases until they are delivered: what `Ledger.keeping` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dplr.ledger.budget import Reservation
from dplr.ledger.recovery import Recovery
from dplr.ledger.reservation import begin
from dplr.privacy.statement import PrivacyStatement


class Keeping:
    """A ledger that keeps the file of each model that it pays for: what `Ledger.keeping` returns.

    Fits that name it (`ledger=`) are paid by its ledger. It is a context manager: a block that ends without an error
    has delivered its models, and the ledger drops their files. A copy is itself; pickled it becomes its ledger.

    Parameters
    ----------
    ledger : dplr.Ledger
        The ledger that pays.
    encode : callable
        Takes a fitted model and returns its file as bytes.

    Attributes
    ----------
    ledger : dplr.Ledger
        The ledger that pays.
    encode : callable
        Returns the file of a fitted model as bytes.
    tokens : list of str
        Names of the reservations that were made with it, in their order.

    Privacy
    -------
    It pays as its ledger does. The file that is kept is the release itself, which is paid for.

    See Also
    --------
    dplr.Ledger.keeping : Make one.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> ledger.keeping(dplr.model_file.encode_model).tokens
    []
    """

    __slots__ = ("encode", "ledger", "tokens")

    def __init__(self, ledger: Recovery, encode: Callable[[Any], bytes]) -> None:
        self.ledger: Recovery = ledger
        self.encode: Callable[[Any], bytes] = encode
        self.tokens: list[str] = []

    def reserve(self, *statements: PrivacyStatement) -> Reservation:
        """Reserve from the ledger.

        Parameters
        ----------
        *statements : dplr.privacy.PrivacyStatement
            Statements of the releases to come.

        Returns
        -------
        dplr.ledger.Reservation
            The budget that is held.

        Raises
        ------
        BudgetExceeded
            They do not fit; nothing was spent.
        ValueError
            A statement breaks a rule of the ledger.
        OSError
            The file cannot be written.

        Privacy
        -------
        As `Ledger.reserve`.
        """
        reservation = begin(self.ledger._opened, statements)
        self.tokens.append(reservation.token)
        return reservation

    def file_of(self, est: Any) -> bytes | None:
        """The file that is kept of a model; None for one that no file can hold. Private."""
        try:
            return self.encode(est)
        except (ValueError, TypeError):
            return None

    def delivered(self) -> None:
        """Delete the kept files of all that was reserved here: they were delivered.

        Raises
        ------
        OSError
            The file cannot be written.

        Privacy
        -------
        As `Ledger.delivered`.
        """
        for token in self.tokens:
            self.ledger.delivered(token)

    def __enter__(self) -> Keeping:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.delivered()

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self.ledger.__reduce__()

    def __copy__(self) -> Keeping:
        return self

    def __deepcopy__(self, _: Any) -> Keeping:
        return self

    def __repr__(self) -> str:
        return f"Keeping({self.ledger!r})"
