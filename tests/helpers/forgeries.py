"""Model files that were changed after they were written, with the hash that belongs to the change."""

import json

import dplr
from dplr.model_file.strict_json import digest


def forgery(est, path, change):
    """The file of a model after `change`, which is given the table of its fields."""
    dplr.save_model(est, path)
    whole = json.loads(path.read_text())
    change(whole["model"])
    whole["sha256"] = digest(whole["model"])
    path.write_text(json.dumps(whole))
    return path
