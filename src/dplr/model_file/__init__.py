"""Model files.

A fitted model as strict JSON with a hash: what was released and public facts, nothing else. Each kind of value has one
file that writes and reads it (bounds, link, loss, statement, unit); `state.py` puts them together, `rules.py` checks
how they fit each other, and `envelope.py` is the form that files of moments share.
"""

from dplr.model_file.file import FORMAT, VERSION, encode_model, load_model, save_model
from dplr.model_file.strict_json import ModelFileError

__all__ = ["FORMAT", "VERSION", "ModelFileError", "encode_model", "load_model", "save_model"]
