"""Model files."""

from dplr._files import write_whole
from dplr.model_file.file import FORMAT, VERSION, check_replaceable, encode_model, load_model, save_model
from dplr.model_file.strict_json import ModelFileError

__all__ = [
    "FORMAT",
    "VERSION",
    "ModelFileError",
    "check_replaceable",
    "encode_model",
    "load_model",
    "save_model",
    "write_whole",
]
