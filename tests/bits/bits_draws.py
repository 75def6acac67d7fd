"""Hashes of noise from fixed seeds, of encoded columns, of ids, and of the scan of CSV rows."""

import ctypes
from fractions import Fraction

import numpy as np
from bits_made import digest, unit, words

from dplr._core import (
    Feature,
    Features,
    NumberCodes,
    TextCodes,
    array_values,
    arrow_piece,
    hash_integers,
    hash_texts,
    number_rows,
    scan_rows,
)
from dplr.noise import Source
from dplr.privacy.selection import choose

TEXTS = ["", "a", "b", "no", "yes", "ten bytes!", "a text of twenty-six bytes", "é", "Zürich", "数", "x" * 100]


def draws():
    """(name, "", hash) of what a source draws."""
    for name, value in _draws():
        yield f"draws {name}", "", value


def encoder():
    """(name, "", hash) of columns as kernels encode them, and of ids."""
    for name, value in _encoder():
        yield f"encoder {name}", "", value


def _draws():
    for scale in (1, 3, 100, 2**36, 2**40):
        yield f"laplace {scale}", digest(Source(scale % 97).laplace(scale, 2000))
    for variance in (1, 50, 1024, 2**40, 2**44):
        yield f"gaussian {variance}", digest(Source(variance % 89).gaussian(variance, 2000))
    for rate in (2**20, 2**31, 2**32 - 1):
        yield f"indices {rate}", digest(Source(5).bernoulli_indices(20_000, rate).astype(np.int64))
    yield "below", digest([Source(seed).below(10**30 + seed) for seed in range(20)])
    yield "choices", digest([choose([5 * 2**20, 3 * 2**20, 4 * 2**20], 1.0, Source(seed)) for seed in range(50)])
    source = Source(6)
    for draw in (lambda: source.laplace(7, 500), lambda: source.gaussian(9, 500), lambda: source.normal(1.0, 50)):
        draw()
    yield "bytes drawn", digest(source.drawn)
    yield "normal", digest(Source(7).normal(0.3, 500))
    yield "laplace, large", digest(Source(8).laplace(2**50, 500))
    for name, scale in {"coarse": Fraction(1, 3), "fine": Fraction(2**44), "refined": Fraction(2**150, 7)}.items():
        source = Source(9)
        yield f"norm gamma {name}", digest([source.norm_gamma(scale, size).tolist() for size in (1, 2, 5)])
        yield f"normals {name}", digest([source.normals(scale, size).tolist() for size in (1, 2, 5)])
        yield f"in a body {name}", digest(source.in_body([scale, 2 * scale, scale / 3], [1, 2]).tolist())


def _encoder():
    numbers = np.floor(40.0 * unit(3000, 11)) / 2.0 - 5.0
    numbers[::7] = np.nan
    for kind in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"):
        plain = numbers if np.dtype(kind).kind == "f" else np.nan_to_num(numbers)
        plain = (np.abs(plain) if np.dtype(kind).kind == "u" else plain).astype(kind)
        yield f"column of {kind}", digest(_encoded(Feature(array_values(plain), 0, filler=1.5, mark=1), len(plain), 2))
    knots, k = np.arange(0.0, 20.0, 2.5), 8
    known = NumberCodes(knots, np.arange(k, dtype=np.int32)[::-1].copy(), None, 0)
    yield "levels of numbers", digest(_encoded(_of_codes(array_values(numbers), known, k), 3000, k))
    levels = [text.encode() for text in TEXTS[::2]]
    values = _as_arrow([TEXTS[place] for place in (words(3000, 12) % len(TEXTS)).tolist()])
    yield "levels of texts", digest(_encoded(_of_codes(values, TextCodes(levels), len(levels)), 3000, len(levels)))
    hashes = np.zeros(500, np.int64)
    hash_integers(words(500, 13), hashes)
    yield "hashes of integers", digest(hashes)
    data = np.frombuffer("".join(TEXTS).encode(), np.uint8)
    ends, hashes = np.cumsum([0, *(len(text.encode()) for text in TEXTS)]), np.zeros(len(TEXTS), np.int64)
    hash_texts(data, ends, hashes)
    yield "hashes of texts", digest(hashes)
    slots, firsts, counts = np.zeros((512, 2), np.int64), np.zeros(256, np.int64), np.zeros(256, np.int64)
    ids = words(2000, 14) % 200
    row, known_ids, _ = number_rows(ids, 0, 0, 10**6, slots, firsts, counts)
    yield "numbers of ids", digest(row, known_ids, ids, firsts, counts)
    text = ('a,"b ""c\n",d\r\n' * 40 + "e,f\n").encode()
    parts = [(end, start) for end in (None, -4) for start in (0, 15, 30)]  # -4: the end of a row that ends in two bytes
    yield "rows of CSV", digest(*(scan_rows(text[:end], start, 0, ord(",")) for end, start in parts))


def _of_codes(values, known, k):
    """One column of the matrix for each code."""
    places = np.concatenate([[-1, 0, -1], np.arange(k)]).astype(np.int32)
    return Feature(values, 0, known, None, places, np.concatenate([[0.0, 0.25, 0.0], np.ones(k)]))


def _encoded(feature, n, columns):
    """The matrix, its missing values as one number because NaNs of libraries differ, and the marks."""
    out, marks = np.zeros((n, columns)), np.zeros((2, 1), np.int64)
    Features([feature]).write(0, None, out, marks)
    return digest(np.nan_to_num(out, nan=-99.0), marks)


class _Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
    ]  # fmt: skip


class _Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]  # fmt: skip


_KEPT = []  # what Arrow's structs point to, for as long as the process lives


def _as_arrow(texts):
    """Texts as a column of Arrow's C data interface, made by hand: no library of Arrow is on every platform."""
    coded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, coded)]).astype(np.int64)
    data = np.frombuffer(b"".join(coded), np.uint8).copy()
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_released)
    address = ctypes.cast(release, ctypes.c_void_p).value
    buffers = (ctypes.c_void_p * 3)(None, ends.ctypes.data, data.ctypes.data)
    schema = _Schema(format=b"U", release=address)
    array = _Array(len(texts), 0, 0, 3, 0, ctypes.addressof(buffers), release=address)
    _KEPT.extend([ends, data, release, buffers, schema, array])
    return arrow_piece(_capsule(schema, b"arrow_schema"), _capsule(array, b"arrow_array"))


def _released(_):
    """Nothing: all of it is kept."""


def _capsule(struct, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(struct), name, None)
