"""The ledger as estimators, cross-validation, workers and copies use it; what it refuses and how it says so."""

import contextlib
import copy
import math
import os
import pathlib
import pickle
import re
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace

import joblib
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dplr
from dplr import rows
from dplr.cli import main
from dplr.ledger import connection as _ledger_connection
from dplr.ledger import outcomes, room, transactions
from dplr.ledger.budget import BudgetExceeded
from dplr.ledger.decoding import guarantee_of
from dplr.ledger.entries import guarantee_text
from dplr.ledger.handle import Ledger
from dplr.privacy.guarantees import Pure

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def ledger(path):
    return Ledger(path, eps=1.0, delta=1e-5)


def data(n=400):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (n, 2))
    return X, (X[:, 0] > 0).astype(int)


def states(ledger):
    return [entry.state for entry in ledger.entries()]


def a_plan(eps=0.4, **options):
    return dplr.plan(n_rows=100, n_features=2, eps=eps, **options)


# What spends


def test_five_folds_at_eps_one_record_five_entries(path):
    X, y = data()
    ledger = Ledger(path, eps=5.0)
    cross_val_score(dplr.LogisticRegression(eps=1.0, ledger=ledger, mechanism="fm"), X, y, cv=KFold(5))
    assert [entry.eps for entry in ledger.entries()] == [1.0] * 5
    assert states(ledger) == ["committed"] * 5
    assert ledger.remaining() == (0.0, 1e-12)
    with pytest.raises(BudgetExceeded):
        dplr.LogisticRegression(eps=0.01, ledger=str(path), mechanism="fm").fit(X, y)


def test_workers_spend_from_one_budget_with_noise_of_their_own(path):
    X, y = data()
    ledger = Ledger(path, eps=4.0)
    model = dplr.LogisticRegression(eps=1.0, ledger=path, mechanism="fm")
    with joblib.parallel_config("loky", n_jobs=2):
        fits = joblib.Parallel()(joblib.delayed(lambda: clone(model).fit(X, y).released_)() for _ in range(4))
    assert ledger.spent() == (4.0, 0.0)
    assert states(ledger) == ["committed"] * 4
    assert len({fit["linear"].tobytes() for fit in fits}) == 4
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, X, y, cv=KFold(2), n_jobs=2, error_score="raise")


def test_a_search_counts_every_fit_and_its_last(path):
    X, y = data()
    ledger = Ledger(path, eps=10.0)
    model = make_pipeline(FunctionTransformer(), dplr.LogisticRegression(eps=0.5, ledger=ledger, mechanism="fm"))
    with pytest.warns(dplr.PrivacyWarning, match="^GridSearchCV chose parameters"):
        GridSearchCV(model, {"logisticregression__l2": [0.1, 1.0]}, cv=KFold(3)).fit(X, y)
    assert [entry.statement.get("uncovered", []) != [] for entry in ledger.entries()] == [False] * 6 + [True]
    assert ledger.spent() == (3.5, 0.0)


@pytest.mark.parametrize("model", ["logistic", "linear", "svm"])
def test_every_model_and_fit_many_take_a_ledger(path, model):
    X, y = data()
    ledger = Ledger(path, eps=10.0, delta=1e-3)
    mechanism = dplr.ObjectivePerturbation(noise="gaussian") if model == "svm" else "ngd"
    dplr.fit(X, y, eps=0.5, delta=1e-6, mechanism=mechanism, model=model, ledger=ledger)
    dplr.fit_many(X, y, eps=[0.5, 1.0], repeats=2, mechanism=mechanism, model=model, delta=1e-6, ledger=path)
    assert [entry.eps for entry in ledger.entries()] == [0.5, 0.5, 0.5, 1.0, 1.0]
    assert ledger.spent() == (3.5, 5e-6)


def test_a_ledger_without_a_delta_refuses_objective_perturbation_and_says_what_to_do(path):
    ledger = Ledger(path, eps=3.0, delta=0.0)
    plan = a_plan(0.5, mechanism="objective")
    assert not plan.cost(ledger).fits
    with pytest.raises(
        BudgetExceeded, match=r"no room for this delta.* 2\^-64 per model.*delta=1e-12.*\"fm\" or \"output\""
    ):
        ledger.reserve(plan.statement)
    for mechanism in ("fm", "output"):
        ledger.reserve(a_plan(0.5, mechanism=mechanism).statement).commit()
    with pytest.raises(BudgetExceeded, match="Use a smaller eps, or a model that was already released"):
        ledger.reserve(a_plan(2.5, mechanism="fm").statement)


@pytest.mark.parametrize("composition", ["basic", "zcdp", "pld"])
def test_the_delta_of_a_solver_costs_next_to_nothing_of_a_budget(path, composition):
    ledger = Ledger(path, eps=3.0, delta=1e-9, composition=composition)
    plan = a_plan(0.5, mechanism="objective")
    for _ in range(2):
        ledger.reserve(plan.statement).commit()
    assert [entry.delta for entry in ledger.entries()] == [2.0**-64] * 2
    eps, delta = ledger.spent()
    assert 0.99 <= eps <= 1.0
    assert 2.0**-63 <= delta <= (1e-9 if composition == "pld" else 2.0**-63 * (1 + 1e-15))
    assert ledger.remaining()[0] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("composition", ["basic", "zcdp", "pld"])
def test_releases_of_every_form_share_one_budget(path, composition):
    ledger = Ledger(path, eps=6.0, delta=1e-4, composition=composition)
    forms = [
        a_plan(0.3, mechanism="fm"), a_plan(0.3, delta=1e-6, mechanism="fm"),
        a_plan(0.3, delta=1e-6, mechanism="objective"),
        a_plan(0.3, delta=1e-6, mechanism=dplr.NoisyGradientDescent(steps=20, batch=10)),
    ]  # fmt: skip
    assert len({type(plan.statement.guarantee) for plan in forms}) == 4
    for _ in range(2):
        ledger.reserve(*[plan.statement for plan in forms]).commit()
    spent = ledger.spent()[0]
    if composition == "basic":
        assert spent == 2.4
    else:  # with so few releases zCDP costs more than adding, and loss distributions never do
        assert 0.3 < spent < (2.4 if composition == "pld" else 6)
    before = ledger.remaining()[0]
    price = forms[0].cost(ledger)
    assert price.fits
    assert price.after[0] < before <= 6.0


def test_many_fits_reserve_all_or_nothing(ledger):
    X, y = data()
    with pytest.raises(BudgetExceeded, match="3 releases"):
        dplr.fit_many(X, y, eps=[0.4], repeats=3, ledger=ledger, mechanism="fm")
    assert ledger.entries() == []
    dplr.fit_many(X, y, eps=[0.2], repeats=5, ledger=ledger, mechanism="fm")
    assert ledger.remaining() == (0.0, 1e-5)


def test_no_row_is_read_where_the_budget_is_exceeded(ledger, monkeypatch, entropy):
    X, y = data()
    monkeypatch.setattr(rows.ArrayRows, "total", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(BudgetExceeded, match=r"`ledger` must have room .* got eps = 1.5.*\(eps = 1, delta = 1e-05\)"):
        dplr.fit(X, y, eps=1.5, ledger=ledger, mechanism="fm")
    assert entropy.bytes == 0


def test_a_value_fault_gives_the_budget_back(ledger):
    X, y = data()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="finite"):
        dplr.fit(X, y, eps=0.4, ledger=ledger, mechanism="fm")
    assert states(ledger) == ["refunded"]
    assert ledger.remaining() == (1.0, 1e-5)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_after_noise_stays_spent(ledger, monkeypatch, error):
    X, y = data()
    draw = dplr.noise.Source.laplace

    def interrupted(self, scale, size):
        draw(self, scale, size)
        raise error

    monkeypatch.setattr(dplr.noise.Source, "laplace", interrupted)
    with pytest.raises(error):
        dplr.fit(X, y, eps=0.4, ledger=ledger, mechanism="fm")
    assert states(ledger) == ["drawing"]
    assert ledger.spent() == (0.4, 0.0)


def test_a_process_that_dies_in_a_fit_leaves_it_spent(ledger, path):
    code = (
        "import os, dplr, numpy as np, dplr.noise\n"
        "dplr.noise.Source.norm_gamma = lambda *_: os._exit(3)\n"
        f"X = np.full((10, 1), 0.5); dplr.fit(X, [0, 1] * 5, eps=0.4, ledger={str(path)!r})\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3
    assert states(ledger) == ["reserved"]
    assert ledger.remaining()[0] == 0.6


def test_refitting_from_a_release_costs_nothing(ledger):
    X, y = data()
    est = dplr.fit(X, y, eps=0.4, ledger=ledger, mechanism="fm").refit(l2=1.0)
    assert len(ledger.entries()) == 1
    assert est.ledger == ledger


# The handle


def test_copies_of_a_ledger_are_handles_of_one_file(ledger):
    labelled = ledger.labelled("census 2024")
    for other in (copy.copy(labelled), copy.deepcopy(labelled), pickle.loads(pickle.dumps(labelled)), clone(
        dplr.LinearRegression(ledger=labelled, mechanism="fm")
    ).ledger):  # fmt: skip
        assert other == labelled
        assert hash(other) == hash(labelled)
        other.reserve(a_plan(0.1, mechanism="fm").statement).commit()
    assert ledger != labelled
    assert [entry.label for entry in ledger.entries()] == ["census 2024"] * 4
    assert ledger.spent()[0] == 0.4


def test_threads_and_forks_share_a_handle(ledger):
    def spend():
        ledger.reserve(a_plan(0.1, mechanism="fm").statement).commit()

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pid = os.fork()
    if pid == 0:
        try:
            spend()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert ledger.spent()[0] == 0.5


def test_a_fork_waits_for_the_operation_of_another_thread(ledger, monkeypatch):
    monkeypatch.setattr(_ledger_connection, "WAIT_SECONDS", 1.0)
    inside = threading.Event()

    def hold():
        with transactions.writing(ledger.path, "", outcomes.RESERVE):
            inside.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    pid = os.fork()
    if pid == 0:
        try:
            ledger.reserve(a_plan(0.1, mechanism="fm").statement).commit()
            os._exit(0)
        except BaseException:
            os._exit(1)
    thread.join()
    assert os.waitpid(pid, 0)[1] == 0
    assert states(ledger) == ["committed"]


def test_counts_of_numpy_are_counts(tmp_path):
    X, y = data()
    mechanism = dplr.NoisyGradientDescent(steps=np.int64(3))
    ledger = Ledger(tmp_path / "numpy", eps=1.0, delta=1e-6)
    dplr.fit(X, y, eps=np.float32(1), delta=1e-6, n_rows=np.int64(len(y)), mechanism=mechanism, ledger=ledger)
    assert states(ledger) == ["committed"]


@pytest.mark.parametrize("name", ["a%41?mode=ro#x&y", 'it\'s "x"\nnew line', "not text \udcff"])
def test_every_name_of_a_file_is_taken_as_it_is(tmp_path, name):
    Ledger(tmp_path / name, eps=1.0).reserve(a_plan(0.25, mechanism="fm").statement).commit()
    assert os.listdir(tmp_path) == [name]
    assert Ledger(tmp_path / name).remaining()[0] == 0.75
    assert Ledger(f"/{tmp_path}/{name}").remaining()[0] == 0.75  # two slashes at the start stay two


def test_a_label_that_no_file_can_hold_is_refused(ledger):
    with pytest.raises(ValueError, match="`label` must be a text that can be written as UTF-8"):
        ledger.labelled("not text \udcff")


def test_a_handle_notices_that_its_file_was_replaced(ledger, path):
    path.unlink()
    Ledger(path, eps=100.0)
    with pytest.raises(ValueError, match="another one"):
        ledger.reserve(a_plan(mechanism="fm").statement)


@pytest.mark.parametrize("version", [0, 1, 3, 6])
def test_a_file_of_another_version_is_refused_and_left_as_it_is(ledger, path, version):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    statement = a_plan(mechanism="fm").statement
    for use in (lambda: Ledger(path), ledger.remaining, ledger.entries, lambda: ledger.reserve(statement)):
        with pytest.raises(ValueError, match=f"must have ledger format 2; got 'ledger format {version} in ") as refusal:
            use()
        assert str(refusal.value).endswith(
            "budget of this one." if version < 2 else "Use the version of dplr that made it."
        )
    assert path.read_bytes() == before


def test_a_path_means_the_same_from_every_folder(ledger, path, monkeypatch):
    monkeypatch.chdir(path.parent)
    near = Ledger(path.name)
    (path.parent / "link").symlink_to(path)
    linked = Ledger("link")
    monkeypatch.chdir("/")
    assert near == linked == ledger
    near.remaining()


def test_entries_keep_the_whole_statement(ledger):
    statement = a_plan(0.4, delta=1e-6, mechanism="fm").statement
    ledger.labelled("a'; DROP TABLE entry; --").reserve(statement).commit()
    (entry,) = ledger.entries()
    assert entry.guarantee == statement.guarantee
    assert entry.label == "a'; DROP TABLE entry; --"
    assert entry.statement["assumptions"] == list(statement.assumptions)
    assert entry.statement["released"]["linear"]["scale"] == statement.released["linear"].scale
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", entry.reserved_at)
    assert entry.reserved_at <= entry.ended_at


def test_a_guarantee_survives_the_file_in_every_bit():
    for guarantee in (
        dplr.privacy.Pure(0.1 + 0.2), dplr.privacy.Gaussian(math.pi / 7), dplr.privacy.Approx(1e-9, 1e-300),
        dplr.privacy.Poisson(0.01, 1.1, 1000),
    ):  # fmt: skip
        assert guarantee_of(guarantee_text(guarantee)) == guarantee


# What a plan costs


def test_a_plan_is_priced_without_spending(ledger, path):
    price = a_plan(0.4, mechanism="fm").cost(path)
    assert price.fits
    assert (price.eps, price.delta) == (0.4, 0.0)
    assert (price.before, price.after) == ((1.0, 1e-5), (0.6, 1e-5))
    assert "after (eps = 0.6" in str(price)
    too_much = a_plan(1.4, mechanism="fm").cost(ledger)
    assert (too_much.fits, too_much.after) == (False, None)
    assert "does not fit" in str(too_much)
    assert ledger.entries() == []
    with pytest.raises(TypeError, match="`ledger` must be"):
        a_plan(mechanism="fm").cost(None)


# What is refused


def test_terms_are_those_of_the_file(ledger, path):
    assert Ledger(path).terms() == Ledger(path, eps=1.0, composition="basic").terms() == ledger.terms()
    for name, value in (
        ("eps", 2.0), ("delta", 1e-6), ("composition", "zcdp"), ("neighbouring", "add_remove"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"`{name}` must be .* as the ledger .* Leave {name} out"):
            Ledger(path, **{name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0}, "`eps` must be positive"),
        ({"eps": math.inf}, "`eps` must be finite"),
        ({"eps": "1"}, "`eps` must be a real number"),
        ({"eps": 1, "delta": 1.0}, "`delta` must be in"),
        ({"eps": 1, "composition": "rdp"}, "`composition` must be one of"),
        ({"eps": 1, "composition": "zcdp"}, "`delta` must be positive with composition='zcdp'"),
        ({"eps": 1, "delta": 1e-13, "composition": "pld"}, "`delta` must be at least 9.1e-13"),
        ({"eps": 1, "neighbouring": "both"}, "`neighbouring` must be one of"),
        ({"eps": 1, "label": ""}, "`label` must be"),
        ({}, "`ledger` must be the file of a ledger that exists; got .* Make it once"),
    ],
)
def test_bad_terms_are_refused_and_leave_no_file(tmp_path, options, message):
    with pytest.raises((ValueError, TypeError, OSError), match=message):
        Ledger(tmp_path / "new", **options)
    assert list(tmp_path.iterdir()) == []


def test_statements_that_promise_nothing_or_something_else_are_refused(ledger):
    X, y = data()
    with pytest.raises(ValueError, match="`eps` must be finite to be entered"):
        dplr.fit(X, y, eps=math.inf, ledger=ledger, mechanism="fm")
    with pytest.raises(ValueError, match="`eps` must be finite to be entered"):
        dplr.fit(X, y, eps=math.inf, mechanism="none", ledger=ledger)
    with pytest.raises(ValueError, match="`neighbouring` must be 'replace_one', the relation of the ledger"):
        dplr.fit(X, y, eps=0.1, neighbouring="add_remove", n_rows=400, ledger=ledger, mechanism="fm")
    with pytest.warns(dplr.PrivacyWarning), pytest.raises(ValueError, match="`rng` must be None with a ledger"):
        dplr.fit(X, y, eps=0.1, rng=1, ledger=ledger, mechanism="fm")
    for eps, delta in ((-5.0, 0.0), (0.1, -0.5)):  # a statement made by hand gives nothing back
        with pytest.raises(ValueError, match="must be"):
            ledger.reserve(replace(a_plan(0.1, mechanism="fm").statement, eps=eps, delta=delta, guarantee=Pure(eps)))
    with pytest.raises(TypeError, match=r"`ledger` must be None, a dplr\.Ledger or the path"):
        dplr.fit(X, y, eps=0.1, ledger=3, mechanism="fm")
    with pytest.raises(FileNotFoundError, match="`ledger` must be"):
        dplr.fit(X, y, eps=0.1, ledger=ledger.path + "x", mechanism="fm")
    assert ledger.entries() == []
    assert not os.path.exists(ledger.path + "x")


def test_entries_and_terms_cannot_be_rewritten(ledger):
    ledger.reserve(a_plan(mechanism="fm").statement).commit()
    ledger.reserve(a_plan(mechanism="fm").statement).draw()
    connection = sqlite3.connect(ledger.path)
    for statement in (
        "DELETE FROM entry", "UPDATE entry SET eps = 0.1", "UPDATE entry SET state = 'refunded'",
        "UPDATE entry SET state = 'refunded' WHERE state = 'drawing'", "UPDATE terms SET eps = 9", "DELETE FROM terms",
        "INSERT OR REPLACE INTO entry SELECT number, reservation, 'refunded', eps, delta, guarantee, draws, label, "
        "reserved_at, ended_at, statement, share FROM entry",
    ):  # fmt: skip
        with pytest.raises(sqlite3.IntegrityError, match="ledger"):
            connection.execute(statement)
    for column in ("eps", "delta", "draws"):
        names = [row[1] for row in connection.execute("PRAGMA table_info(entry)") if row[1] != "number"]
        values = [f"-{name} - 1" if name == column else name for name in names]
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            connection.execute(f"INSERT INTO entry ({', '.join(names)}) SELECT {', '.join(values)} FROM entry")
    connection.close()


def test_a_file_of_format_1_is_refused_by_name_and_left_as_it_is(ledger, tmp_path):
    """Such files may promise what is no longer kept: strict ones hide errors from whoever fits."""
    for strict in (0, 1):
        path = tmp_path / f"old{strict}"
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE terms (id TEXT, eps REAL, delta REAL, strict INTEGER)")
            connection.execute("INSERT INTO terms VALUES ('x', 1.0, 0.0, ?)", (strict,))
            connection.execute("PRAGMA application_id = 0x64706C72")
            connection.execute("PRAGMA user_version = 1")
        before = path.read_bytes()
        for use in (lambda path=path: Ledger(path), lambda path=path: Ledger(path, eps=1.0)):
            with pytest.raises(ValueError, match=r"ledger format 1 in .*make a new ledger, with what is left"):
                use()
        done = CliRunner().invoke(main, ["ledger", "show", str(path)])
        assert (done.exit_code, "ledger format 1" in done.output) == (3, True)
        assert path.read_bytes() == before


def test_a_reservation_ends_once(ledger):
    held = ledger.reserve(a_plan(mechanism="fm").statement)
    held.commit()
    for end in (held.commit, held.refund):
        with pytest.raises(RuntimeError, match="ends once"):
            end()
    assert states(ledger) == ["committed"]


def test_a_ledger_that_others_hold_is_waited_for_and_then_refused_in_clear_words(ledger, monkeypatch):
    monkeypatch.setattr(_ledger_connection, "WAIT_SECONDS", 0.2)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(TimeoutError, match="`ledger` was in use by others"):
        ledger.reserve(a_plan(mechanism="fm").statement)
    other.execute("ROLLBACK")
    other.close()
    ledger.reserve(a_plan(mechanism="fm").statement)


def test_loss_distributions_without_dp_accounting_say_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \"\.\[accounting\]\""):
        Ledger(tmp_path / "new", eps=1.0, delta=1e-6, composition="pld")


# Targets


def test_an_error_of_a_target_does_not_say_how_long_a_text_is():
    X, y = data()
    said = set()
    for longest in ("9", "99999"):
        texts = np.array(["1", longest])[y]
        with pytest.raises(ValueError, match="`y` must be numeric") as caught:
            dplr.fit(X, texts, eps=0.1, model="linear", mechanism="fm")
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize(("library", "table"), [("polars", "DataFrame"), ("pyarrow", "table")])
def test_a_missing_boolean_does_not_change_what_a_ledger_says_of_labels(ledger, library, table):
    make = getattr(pytest.importorskip(library), table)
    X, y = data()
    whole = [bool(value) for value in y]
    dplr.fit(X, make({"y": whole}), eps=0.1, ledger=ledger, mechanism="fm")
    with pytest.raises(ValueError, match="1 of 400 values are missing"):
        dplr.fit(X, make({"y": [None, *whole[1:]]}), eps=0.1, ledger=ledger, mechanism="fm")
    said = [entry.statement["assumptions"] for entry in ledger.entries()]
    assert len(said) == 2
    assert said[0] == said[1]


@pytest.mark.parametrize("options", [{}, {"model": "linear"}, {"bounds": dplr.Bounds([(-1, 1)] * 2, {"threshold": 1})}])
def test_an_error_of_a_target_does_not_say_how_long_its_entries_are(options):
    X, _ = data()
    said = set()
    for longest in (b"x", b"x" * 40):
        with pytest.raises((ValueError, TypeError)) as caught:
            dplr.fit(X, np.array([b"x"] * (len(X) - 1) + [longest]), eps=0.1, **options)
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("model", ["linear", "logistic"])
@pytest.mark.parametrize("value", [2**100, -(2**126)])
def test_a_target_of_wide_integers_fails_no_sooner_than_any_other(ledger, model, value):
    """Whether polars can make an array of them depends on the values."""
    pl = pytest.importorskip("polars")
    X, y = data()
    wide = pl.Series([value, *y.astype(int).tolist()[1:]], dtype=pl.Int128)
    with contextlib.nullcontext() if model == "linear" else pytest.raises(ValueError, match="label"):
        dplr.fit(X, wide, eps=0.1, model=model, ledger=ledger, mechanism="fm")
    assert len(ledger.entries()) == 1


def test_the_file_is_readable_by_its_owner_alone_and_nothing_else_is_left(ledger, path):
    ledger.reserve(a_plan(mechanism="fm").statement).commit()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert pathlib.Path(path).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("as_path", "opened"), [(False, "www"), (True, "rwww")])
def test_a_fit_opens_the_file_once_to_reserve_once_to_draw_and_once_to_commit(tmp_path, monkeypatch, as_path, opened):
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    seen = []
    for name in ("reading", "writing"):
        begin = getattr(transactions, name)
        monkeypatch.setattr(transactions, name, lambda *a, begin=begin, name=name: (seen.append(name[0]), begin(*a))[1])
    X = np.linspace(-1, 1, 40).reshape(20, 2)
    dplr.fit(
        X,
        X[:, 0] > 0,
        eps=0.5,
        bounds=dplr.Bounds([(-1, 1)] * 2),
        ledger=ledger.path if as_path else ledger,
        mechanism="fm",
    )
    assert "".join(seen) == opened


def test_nobody_writes_between_the_look_at_a_budget_and_the_entry(ledger, path, monkeypatch):
    """Else two processes could both find room, and both take it."""
    real, locked = room.Room.takes, []

    def takes(self, costs):
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
                locked.append(False)
            except sqlite3.OperationalError as error:
                locked.append("locked" in str(error))
        return real(self, costs)

    monkeypatch.setattr(room.Room, "takes", takes)
    ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=0.6, mechanism="fm").statement)
    assert locked == [True]
