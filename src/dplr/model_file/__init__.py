"""Model files."""

from dplr.model_file.file import FORMAT, VERSION, encode_model, load_model, save_model
from dplr.model_file.strict_json import ModelFileError

__all__ = ["FORMAT", "VERSION", "ModelFileError", "encode_model", "load_model", "save_model"]
