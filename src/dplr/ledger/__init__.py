"""A budget in a file, from which every fit that names it spends."""

from dplr.ledger.allotment import Allotment
from dplr.ledger.budget import BudgetExceeded, Reservation, ReservationLost
from dplr.ledger.entries import Entry, Terms
from dplr.ledger.handle import Ledger
from dplr.ledger.job import Job
from dplr.ledger.terms import Price

__all__ = [
    "Allotment",
    "BudgetExceeded",
    "Entry",
    "Job",
    "Ledger",
    "Price",
    "Reservation",
    "ReservationLost",
    "Terms",
]
