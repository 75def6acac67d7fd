"""A budget in a file, from which every fit that names it spends."""

from dplr.ledger.allotment import Allotment
from dplr.ledger.budget import Budget, BudgetExceeded, NullLedger, NullReservation, Reservation, ReservationLost
from dplr.ledger.entries import Entry
from dplr.ledger.handle import Ledger, as_ledger
from dplr.ledger.job import Job
from dplr.ledger.terms import Price

__all__ = [
    "Allotment",
    "Budget",
    "BudgetExceeded",
    "Entry",
    "Job",
    "Ledger",
    "NullLedger",
    "NullReservation",
    "Price",
    "Reservation",
    "ReservationLost",
    "as_ledger",
]
