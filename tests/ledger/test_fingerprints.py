"""What tells the data of a job from others stays in the ledger, under a random key: no other face shows or holds it."""

import contextlib
import copy
import glob
import hashlib
import json
import pathlib
import pickle
import sqlite3

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import dplr
from dplr.cli import main
from dplr.ledger.handle import Ledger
from dplr.model_file import encode_model

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
X = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 2))


def hash_of(y):
    """What a careful data holder may take for a fingerprint."""
    return hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()


def fitted(ledger, y, **options):
    job = ledger.job(hash_of(y), keep=encode_model)
    return job, dplr.fit(X, y, eps=1e-6, mechanism="fm", classes=[0, 1], ledger=job, **options)


def published(est):
    """All that a fitted estimator shows or holds."""
    faces = [repr(est), est._repr_html_(), str(est.get_params()), str(vars(est)), str(est.privacy_)]
    faces += [repr(copy.copy(est)), repr(copy.deepcopy(est)), repr(clone(est))]
    faces += [str(getattr(est.ledger, name, "")) for name in dir(est.ledger) if not name.startswith("_")]
    kept = [pickle.dumps(each) for each in (est, copy.copy(est), copy.deepcopy(est), clone(est))]
    return "\n".join(faces).encode() + b"\n".join([*kept, encode_model(est)])


def test_a_hash_of_the_data_does_not_tell_one_label_of_a_fitted_estimator(tmp_path):
    """Whoever knows all records but one label hashes both tables: at eps = 1e-6 he must not know which it was."""
    told = 0
    for trial in range(20):
        y = np.random.default_rng(trial).integers(0, 2, len(X))
        other = np.where(np.arange(len(y)) == 7, 1 - y, y)
        _, est = fitted(Ledger(tmp_path / f"{trial}.db", eps=1.0), y)
        faces = published(est)
        told += (hash_of(y).encode() in faces) is not (hash_of(other).encode() in faces)
    assert told == 0


def test_neither_a_fingerprint_nor_its_code_nor_a_token_leaves_the_ledger(tmp_path):
    y = np.random.default_rng(0).integers(0, 2, len(X))
    ledger = Ledger(tmp_path / "budget.db", eps=1.0)
    job = ledger.job(hash_of(y), keep=encode_model)
    held = ledger.reserve(dplr.plan(n_rows=9, n_features=1, eps=0.1, mechanism="fm"), fingerprint=hash_of(y))
    with contextlib.closing(sqlite3.connect(ledger.path)) as connection:
        ((code, token),) = connection.execute("SELECT fingerprint, reservation FROM entry").fetchall()
        (key,) = connection.execute("SELECT key FROM secret").fetchone()
    assert token == held.token
    assert len(key) == 32
    assert code != hash_of(y)
    est = dplr.fit(X, y, eps=0.1, mechanism="fm", classes=[0, 1], ledger=job)
    shown = [CliRunner().invoke(main, ["ledger", "show", ledger.path, *more]).output for more in ([], ["--json"])]
    faces = published(est) + str(ledger.entries()).encode() + "".join(shown).encode() + repr(job).encode()
    pickled = pickle.dumps(est) + est._repr_html_().encode() + repr(est).encode() + encode_model(est)
    for secret in (hash_of(y).encode(), code.encode(), bytes.fromhex(code), key, key.hex().encode()):
        assert secret not in faces
    assert job.token.encode() not in pickled
    assert pickle.loads(pickle.dumps(est)).ledger == ledger


def test_the_file_of_a_ledger_and_its_journals_hold_no_text_of_a_fingerprint(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", eps=1.0)
    text = "label of record 7 is 1"
    held = ledger.reserve(dplr.plan(n_rows=9, n_features=1, eps=0.1, mechanism="fm"), fingerprint=text)
    held.recorder.record("sum 0", b"numbers")
    held.recorder.close()
    files = glob.glob(f"{ledger.path}*")
    assert len(files) >= 2
    assert not [name for name in files if text.encode() in pathlib.Path(name).read_bytes()]
    again = ledger.resume(1, dplr.plan(n_rows=9, n_features=1, eps=0.1, mechanism="fm"), fingerprint=text)
    again.refund()


def test_two_ledgers_have_other_codes_for_one_fingerprint(tmp_path):
    codes = set()
    for name in ("one", "other"):
        ledger = Ledger(tmp_path / name, eps=1.0)
        ledger.reserve(dplr.plan(n_rows=9, n_features=1, eps=0.1, mechanism="fm"), fingerprint="f")
        with contextlib.closing(sqlite3.connect(ledger.path)) as connection:
            codes |= set(connection.execute("SELECT fingerprint FROM entry").fetchall())
    assert len(codes) == 2


def test_no_error_about_a_fingerprint_shows_one(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", eps=1.0)
    plan = dplr.plan(n_rows=9, n_features=1, eps=0.1, mechanism="fm")
    ledger.reserve(plan, fingerprint="secret one")
    said = []
    for error, attempt in (
        (ValueError, lambda: ledger.resume(1, plan, fingerprint="secret other")),
        (TypeError, lambda: ledger.set_aside(plan, fits=2, fingerprint="secret other")),
        (ValueError, lambda: ledger.job("secret other", resume=True).reserve(plan.statement)),
    ):
        with pytest.raises(error, match=r"fingerprint|these data") as refused:
            attempt()
        said.append(str(refused.value))
    assert "secret" not in json.dumps(said)


def test_a_job_is_one_budget_however_an_estimator_is_copied_and_a_ledger_where_it_is_pickled(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", eps=1.0).labelled("people")
    job = ledger.job("f", keep=encode_model)
    assert copy.copy(job) is copy.deepcopy(job) is job
    est = clone(dplr.LogisticRegression(eps=0.5, mechanism="fm", ledger=job)).fit(X, X[:, 0] > 0)
    assert ledger.recover(job.token) == encode_model(est)
    assert pickle.loads(pickle.dumps(job)) == ledger


@pytest.mark.parametrize("fingerprint", [b"SECRET", "SECRET\ud800"])
def test_an_error_shows_no_fingerprint(tmp_path, fingerprint):
    with pytest.raises((TypeError, ValueError), match="`fingerprint` must be a text") as caught:
        Ledger(tmp_path / "budget.db", eps=1.0).job(fingerprint)
    assert "SECRET" not in str(caught.value)


def test_a_reservation_is_not_pickled(tmp_path):
    y = np.random.default_rng(0).integers(0, 2, len(X))
    job = Ledger(tmp_path / "budget.db", eps=1.0).job(hash_of(y))
    reservation = job.reserve(dplr.plan(n_rows=100, n_features=2, eps=0.1, mechanism="fm").statement)
    with pytest.raises(TypeError, match="pickle the ledger instead"):
        pickle.dumps(reservation)
