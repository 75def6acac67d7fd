"""Sentences about what is spent where a step of a ledger failed, for whoever reads the error.

A disk that fails while it confirms a step may hold the step or not, and only the ledger itself can tell afterwards. So
none of these sentences says more than is certain.
"""

READ = "It was only read: that spends nothing."
MAKE = "No ledger was made, and nothing is spent."
RESERVE = (
    "No row was read and no noise was drawn: nothing is spent, unless `dplr ledger show` lists a new entry; one that "
    "is reserved can be given back."
)
TAKE = "No noise was drawn now: what was reserved or set aside before stays spent, and nothing more."
HELD = (
    "No noise was drawn. What was reserved stays spent, until it is given back (dplr ledger give-back) if "
    "`dplr ledger show` still lists it as reserved."
)
COMMIT = "Its cost stays spent, and nothing was released."
GIVE_BACK = "What was to be given back stays spent, unless `dplr ledger show` lists it as refunded."
SHARE = "Nothing is spent, and no share was made unless `dplr ledger show` lists it."
DELIVERED = "Nothing is spent. The release was delivered, and its file may still be kept here."
