"""A budget in a file, from which every fit that names it spends."""

from dplr.ledger.allotment import Allotment
from dplr.ledger.budget import Budget, BudgetExceeded, NullLedger, NullReservation, Reservation, ReservationLost
from dplr.ledger.entries import Entry
from dplr.ledger.handle import Ledger, as_ledger
from dplr.ledger.resumable import Resumable
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
    "ReservationLost",
    "Resumable",
    "as_ledger",
]
