"""The interface to compiled code.

Duties of the Python side: shapes, types and bounds are checked, arrays are aligned and native, public constants are
float64, scratch is allocated. Duties of a kernel: typed memoryviews (`const` in, adds into its outputs), shapes checked
before the interpreter lock is released, no allocation, no Python object in a loop, no policy. Kernels bound every row
themselves, so no guarantee rests on a check made elsewhere.
"""

from dplr._core._arrow import arrow_piece, arrow_values
from dplr._core._cells import FRACTION_BITS, POWERS, count_cells
from dplr._core._clip import CLIPPED, ClippedRows
from dplr._core._codes import NumberCodes, TextCodes
from dplr._core._data_sums import CalledSums, NativeSums
from dplr._core._descent import floor_limbs, go_down
from dplr._core._encode import Feature, Features
from dplr._core._fine import add_fine_gradient
from dplr._core._isa import instruction_set
from dplr._core._knots import Knots
from dplr._core._loss import CHUNK_ROWS, LossRows
from dplr._core._many import gradients_of_many
from dplr._core._moments import add_moments, moments_work_size
from dplr._core._newton import minimise
from dplr._core._noise import IntegerSampler
from dplr._core._persons import all_same, hash_integers, hash_texts, move_slots, number_rows
from dplr._core._quotes import scan_rows
from dplr._core._row_map import RowMap, built_paths, cpu_paths
from dplr._core._values import Values, array_values

__all__ = [
    "CHUNK_ROWS",
    "CLIPPED",
    "FRACTION_BITS",
    "POWERS",
    "CalledSums",
    "ClippedRows",
    "Feature",
    "Features",
    "IntegerSampler",
    "Knots",
    "LossRows",
    "NativeSums",
    "NumberCodes",
    "RowMap",
    "TextCodes",
    "Values",
    "add_fine_gradient",
    "add_moments",
    "all_same",
    "array_values",
    "arrow_piece",
    "arrow_values",
    "built_paths",
    "count_cells",
    "cpu_paths",
    "floor_limbs",
    "go_down",
    "gradients_of_many",
    "hash_integers",
    "hash_texts",
    "instruction_set",
    "minimise",
    "moments_work_size",
    "move_slots",
    "number_rows",
    "scan_rows",
]  # fmt: skip
