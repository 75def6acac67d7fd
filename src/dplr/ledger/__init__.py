"""A budget in a file, from which every fit that names it spends.

`handle.Ledger` is what users hold. A fit reserves before its first row is read and commits before anything is released
(`reservation.py`); `account.py` knows what is left by the rules of `privacy/rules.py`, and `transactions.py` keeps it
in SQLite. All handles of one file share a `LedgerAccess` value there. A fit that did not end is given back:
`recovery.py`.

>>> import dplr, pathlib, tempfile
>>> ledger = dplr.Ledger(pathlib.Path(tempfile.mkdtemp()) / "budget.ledger", eps=3.0)
>>> ledger.entries()
[]
"""

from dplr.ledger.allotment import Allotment
from dplr.ledger.budget import BudgetExceeded, Reservation, ReservationLost
from dplr.ledger.entries import Entry, Terms
from dplr.ledger.handle import Ledger
from dplr.ledger.keeping import Keeping
from dplr.ledger.terms import Price

__all__ = [
    "Allotment",
    "BudgetExceeded",
    "Entry",
    "Keeping",
    "Ledger",
    "Price",
    "Reservation",
    "ReservationLost",
    "Terms",
]
