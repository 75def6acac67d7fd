"""The journal of a fit: every whole record is there after any crash, and nothing else is taken for one."""

import os
import signal
import stat
import subprocess
import sys
import tracemalloc

import pytest

from dplr.ledger import journal as module
from dplr.ledger.journal import Journal, name_of

TOKEN = "0123456789abcdef" * 2


@pytest.fixture
def ledger(tmp_path):
    return str(tmp_path / "budget.ledger")


@pytest.fixture
def path(ledger):
    return name_of(ledger, TOKEN)


def written(ledger, *records):
    with Journal.create(ledger, TOKEN, "f") as journal:
        for key, payload in records:
            journal.record(key, payload)


def read(ledger):
    with Journal.reopen(ledger, TOKEN, "f") as journal:
        return {key: journal.get(key) for key in journal.keys()}  # noqa: SIM118 - it is no mapping


RECORDS = [("part 1", b"\0\1"), ("part 2", b""), ("größe", bytes(range(256)) * 9)]


def test_records_are_read_back_in_their_order_and_go_on(ledger):
    written(ledger, *RECORDS)
    assert list(read(ledger).items()) == RECORDS
    with Journal.reopen(ledger, TOKEN, "f") as journal:
        journal.record("part 4", b"4")
        assert journal.get("part 5") is None
        with pytest.raises(ValueError, match="`key` must be new"):
            journal.record("part 2", b"another")
    assert list(read(ledger).items()) == [*RECORDS, ("part 4", b"4")]


def test_what_it_found_stays_and_what_it_wrote_is_in_the_file_alone(ledger):
    """Sums of a thousand columns are 16 MB per record, and a long pass writes many of them."""
    written(ledger, ("found", b"found" * 9))
    with Journal.reopen(ledger, TOKEN, "f") as journal:
        tracemalloc.start()
        for number in range(8):
            journal.record(f"sum {number}", bytes([number]) * 2**20)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 2**20
        assert all(journal.get(f"sum {number}") == bytes([number]) * 2**20 for number in range(8))
        journal.remove()
        assert (journal.get("found"), journal.get("sum 3")) == (b"found" * 9, None)


def test_it_is_made_once_for_its_owner_alone_and_says_that_it_is_secret(ledger, path):
    written(ledger, *RECORDS)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path, "rb") as file:
        assert b"never publish it" in file.read(300)
    with pytest.raises(FileExistsError):
        Journal.create(ledger, TOKEN, "f")
    with Journal.reopen(ledger, TOKEN, "f") as journal:
        journal.remove()
    assert not os.path.exists(path)
    with pytest.raises(FileNotFoundError):
        Journal.reopen(ledger, TOKEN, "f")
    os.symlink("/dev/null", path)
    with pytest.raises(OSError, match="symbolic"):
        Journal.reopen(ledger, TOKEN, "f")


def test_it_is_cut_anywhere_and_keeps_what_was_whole(ledger, path):
    """Lengths around every end and many others, and zeros in the place of what was cut off."""
    ends = [0]
    with Journal.create(ledger, TOKEN, "f") as journal:
        ends.append(os.path.getsize(path))
        for key, payload in RECORDS:
            journal.record(key, payload)
            ends.append(os.path.getsize(path))
    with open(path, "rb") as file:
        whole = file.read()
    for length in range(len(whole) + 1):
        if min(abs(length - end) for end in ends) > 3 and length % 23:
            continue
        for zeros in (0, 50):
            with open(path, "wb") as file:
                file.write(whole[:length] + bytes(zeros))
            kept = [record for record, end in zip(RECORDS, ends[2:], strict=True) if end <= length]
            assert list(read(ledger).items()) == kept
            with Journal.reopen(ledger, TOKEN, "f") as journal:
                journal.record("after", b"the cut")
            assert list(read(ledger).items()) == [*kept, ("after", b"the cut")]


def test_damage_before_the_last_record_is_an_error_and_no_record_is_made_up(ledger, path):
    written(ledger, *RECORDS)
    with open(path, "rb") as file:
        whole = file.read()
    last = len(whole) - len(RECORDS[-1][1]) - 60
    for place in range(0, last, 3):
        with open(path, "wb") as file:
            file.write(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(ValueError, match="`journal` must be"):
            read(ledger)


def test_a_record_that_was_left_out_or_moved_is_damage(ledger, path):
    written(ledger, *RECORDS)
    ends = []
    with open(path, "rb") as file:
        whole = file.read()
    start = 0
    while start < len(whole):
        length = int.from_bytes(whole[start : start + 4], "little")
        start += 8 + length + 16
        ends.append(start)
    with open(path, "wb") as file:
        file.write(whole[: ends[0]] + whole[ends[1] :])
    with pytest.raises(ValueError, match="damaged"):
        read(ledger)


@pytest.mark.parametrize(("token", "fingerprint"), [(TOKEN[:16] + "0" * 16, "f"), (TOKEN, "g")])
def test_another_reservation_or_other_data_do_not_take_it(ledger, token, fingerprint):
    written(ledger, *RECORDS)
    with pytest.raises(ValueError, match="must be that of the reservation"):
        Journal.reopen(ledger, token, fingerprint)
    assert list(read(ledger).items()) == RECORDS


def test_a_paused_process_holds_it_and_a_dead_one_does_not(ledger):
    code = (
        "import sys, time; from dplr.ledger.journal import Journal\n"
        f"journal = Journal.create({ledger!r}, {TOKEN!r}, 'f'); journal.record('k', b'v')\n"
        "print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(ValueError, match="must not be held by another process"):
        read(ledger)
    process.kill()
    process.communicate()
    assert read(ledger) == {"k": b"v"}


def test_a_forked_child_does_not_write(ledger):
    with Journal.create(ledger, TOKEN, "f") as journal:
        pid = os.fork()
        if pid == 0:
            try:
                journal.record("k", b"v")
            except RuntimeError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        journal.record("k", b"mine")
    assert read(ledger) == {"k": b"mine"}


@pytest.mark.parametrize("failing", ["write", "fsync"])
def test_nothing_follows_a_record_that_may_not_be_on_the_disk(ledger, monkeypatch, failing):
    with Journal.create(ledger, TOKEN, "f") as journal:
        journal.record("k", b"v")
        plain = os.write

        def fails(descriptor, *data):
            if data:
                plain(descriptor, data[0][:9])
            raise OSError(28, "no space left")

        with monkeypatch.context() as patch:
            patch.setattr(module.os, failing, fails)
            with pytest.raises(OSError, match="no space"):
                journal.record("lost", b"v" * 100)
        with pytest.raises(RuntimeError, match="must be open"):
            journal.record("after", b"v")
        with pytest.raises(ValueError, match="must not be held by another process"):
            read(ledger)
    assert read(ledger) == {"k": b"v"}


def test_each_record_is_synced_and_so_is_its_name(ledger, monkeypatch):
    synced = []
    plain = os.fsync
    monkeypatch.setattr(module.os, "fsync", lambda descriptor: (synced.append(os.fstat(descriptor)), plain(descriptor)))
    with Journal.create(ledger, TOKEN, "f") as journal:
        assert [stat.S_ISDIR(found.st_mode) for found in synced] == [False, True]
        journal.record("k", b"v")
        assert synced[-1].st_size == os.path.getsize(name_of(ledger, TOKEN))


def test_a_system_without_locks_is_refused(ledger, monkeypatch):
    monkeypatch.setattr(module, "fcntl", None)
    with pytest.raises(OSError, match="needs file locks"):
        Journal.create(ledger, TOKEN, "f")
    assert not os.path.exists(name_of(ledger, TOKEN))
