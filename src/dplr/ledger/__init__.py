"""A budget in a file, from which every fit that names it spends."""

from dplr.ledger.allotment import Allotment
from dplr.ledger.budget import Budget, BudgetExceeded, NullLedger, NullReservation, Reservation
from dplr.ledger.entries import Entry
from dplr.ledger.handle import Ledger, as_ledger
from dplr.ledger.terms import Price

__all__ = [
    "Allotment",
    "Budget",
    "BudgetExceeded",
    "Entry",
    "Ledger",
    "NullLedger",
    "NullReservation",
    "Price",
    "Reservation",
    "as_ledger",
]
