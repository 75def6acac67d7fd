"""Fits that outlive their process: what tells their data from others, and what is left in the ledger without them."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed
from dplr.cli._rows import INPUT

if TYPE_CHECKING:
    from dplr.ledger.budget import NullLedger
    from dplr.ledger.handle import Ledger
    from dplr.ledger.job import Job
    from dplr.rows.files.kinds import Format

_LISTED = 8  # of more files only a hash of their fingerprints is kept
_ENDS = 1 << 16  # bytes that are hashed at each end: the end of a Parquet file holds its footer

resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Go on with the fit of these files that was killed: what it reserved pays for this one, and what its journal "
    "holds is not read or drawn again.",
)


def job_of(
    ledger: Ledger | None, data: str, paths: tuple[str | None, ...], target: str, form: Format, resume: bool
) -> Job | None:
    """The job that pays for one fit of these files, and keeps the model until its file is written.

    It can be resumed, unless `data` is standard input: whether that is the same again cannot be seen.
    """
    if resume and data == INPUT:
        raise Refused("`--resume` is of files: standard input is read once. Write its rows to a file first.", USAGE)
    if ledger is None:
        if resume:
            raise Refused("`--resume` is of an entry in a ledger: give --ledger too.", USAGE)
        return None
    if data == INPUT:
        return ledger.job(None, False, lambda est: _file_of(est, target))
    with blamed(FILE):
        fingerprints = "; ".join(fingerprint(path) for path in paths if path is not None)
    if len(paths) > _LISTED:
        fingerprints = f"{len(paths)} files, {hashlib.sha256(fingerprints.encode()).hexdigest()}"
    return ledger.job(f"target {target}, {form}; {fingerprints}", resume, lambda est: _file_of(est, target))


def uncounted(target: str) -> NullLedger:
    """A stand-in where no ledger is given, so that a model that its file cannot hold is refused all the same."""
    from dplr.ledger.budget import NullLedger

    return NullLedger(lambda est: _file_of(est, target))


def fingerprint(path: str) -> str:
    """The name, size and time of a file, and a hash of its ends: for the data holder, as the file itself."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        ends = hashlib.sha256(file.read(_ENDS))
        file.seek(max(status.st_size - _ENDS, 0))
        ends.update(file.read(_ENDS))
    return f"{os.path.realpath(path)}, {status.st_size} bytes, time {status.st_mtime_ns}, ends {ends.hexdigest()}"


def _file_of(est: Any, target: str) -> bytes:
    from dplr.model_file import encode_model

    est.target_name_ = target
    return encode_model(est)


def delivered(job: Job | None) -> None:
    """The file is written: the ledger keeps it no longer."""
    if job is not None and job.token is not None:
        with blamed(FILE):
            job.ledger.delivered(job.token)


def left_behind(job: Job | None) -> str:
    """The trace in the ledger of a fit that did not end, and what to do, in words; empty where there is none."""
    if job is None or job.token is None:
        return ""
    try:
        return _left_by(job, job.token)
    except (OSError, RuntimeError, ValueError):
        return "What it left in the ledger could not be read. `dplr ledger show` tells it, once it can be."


def _left_by(job: Job, token: str) -> str:
    """The last entry of a reservation in words, and what to do."""
    from dplr.ledger.recording import has_journal
    from dplr.privacy.words import delta_words

    last = job.ledger.entries_of(token)[-1]
    entry = f"entry {last.number} of the ledger, eps = {last.eps:g}, delta {delta_words(last.delta)}"
    if last.state == "refunded":
        return ""
    if last.number in job.ledger.kept():
        return f"Its model is paid for and kept: {entry}. `dplr ledger recover` writes it."
    if last.state == "reserved":
        resumes = ", and the same command with --resume goes on with it" if job.resumable else ""
        return f"It drew no noise, and its cost is reserved: {entry}. `dplr ledger give-back` gives it back{resumes}."
    message = f"Noise may have been drawn, so its cost stays spent: {entry}. Nothing can give it back."
    if has_journal(job.ledger.path, token):
        message += " Its noise is in a journal: the same command with --resume goes on with it."
    return message
