import numpy as np
from numpy.typing import NDArray

_Integers = NDArray[np.int64]
_Bytes = NDArray[np.uint8]

def hash_integers(values: _Integers, hashes: _Integers) -> None: ...
def hash_texts(data: _Bytes, ends: _Integers, hashes: _Integers) -> None: ...
def move_slots(slots: _Integers, larger: _Integers) -> None: ...
def number_rows(
    numbers: _Integers,
    row: int,
    known: int,
    probes: int,
    slots: _Integers,
    firsts: _Integers,
    counts: _Integers,
) -> tuple[int, int, int]: ...
def all_same(data: _Bytes, ends: _Integers, codes: _Integers, starts: _Integers, sizes: _Integers) -> bool: ...
