"""What reaches the disk, and how a ledger's file is named, on systems that this run is not on: they are simulated."""

import errno
import os
import pathlib
import sqlite3
import stat

import pytest

import dplr
from dplr._kit import files as _files
from dplr._kit.files import sync, sync_folder, write_whole
from dplr.ledger.connection import address_of, connect

FULL = 51  # what macOS calls its full sync


class Disk:
    """What a simulated macOS was asked to sync: folders and files, in full or not."""

    def __init__(self, monkeypatch, refusal=None):
        self.full, self.plain, self.refusal = [], [], refusal
        self.lock = _files.fcntl.flock
        monkeypatch.setattr(_files, "fcntl", self)
        monkeypatch.setattr(_files.os, "fsync", lambda descriptor: self.plain.append(kind(descriptor)))

    F_FULLFSYNC = FULL

    def fcntl(self, descriptor, command):
        assert command == FULL
        if self.refusal is not None:
            raise OSError(self.refusal, "refused")
        self.full.append(kind(descriptor))


def kind(descriptor):
    return "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"


@pytest.fixture
def no_folders(monkeypatch):
    """Windows: folders cannot be opened, and there is no flag that asks for one."""
    plain = os.open

    def refused(path, *given, **named):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", path)
        return plain(path, *given, **named)

    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "open", refused)


def test_every_file_that_must_last_is_synced_in_full_on_macos(monkeypatch, tmp_path):
    disk = Disk(monkeypatch)
    write_whole(str(tmp_path / "model.json"), b"{}")
    assert (disk.full, disk.plain) == (["file", "folder"], [])
    dplr.Ledger(tmp_path / "ledger", eps=1.0)
    assert (disk.full, disk.plain) == (["file", "folder", "folder"], [])  # the file itself: SQLite, by its pragma


def test_sqlite_is_told_to_sync_in_full(tmp_path):
    connection = connect(dplr.Ledger(tmp_path / "ledger", eps=1.0).path)
    asked = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("fullfsync", "synchronous")]
    connection.close()
    assert asked == [1, 3]  # EXTRA: the folder too, once a rollback journal is gone


@pytest.mark.parametrize("refusal", [errno.ENOTSUP, errno.EINVAL])
def test_where_a_file_system_has_no_full_sync_the_plain_one_is_used(monkeypatch, tmp_path, refusal):
    disk = Disk(monkeypatch, refusal)
    sync_folder(str(tmp_path))
    assert (disk.full, disk.plain) == ([], ["folder"])


def test_a_disk_that_fails_in_a_full_sync_is_an_error(monkeypatch, tmp_path):
    disk = Disk(monkeypatch, errno.EIO)
    with open(tmp_path / "file", "wb") as file, pytest.raises(OSError, match="refused"):
        sync(file.fileno())
    assert disk.plain == []


def test_ledgers_and_models_are_made_where_folders_cannot_be_opened(no_folders, tmp_path):
    with pytest.raises(PermissionError):
        os.open(tmp_path, os.O_RDONLY)
    ledger = dplr.Ledger(tmp_path / "ledger", eps=1.0)
    assert ledger.remaining()[0] == 1.0
    write_whole(str(tmp_path / "model.json"), b"{}")
    assert (tmp_path / "model.json").read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("path", "address"),
    [
        (pathlib.PureWindowsPath(r"C:\data\a b#1?.db"), "file:///C:/data/a%20b%231%3F.db?mode=rw"),
        (pathlib.PureWindowsPath(r"\\host\share\census.db"), "file:////host/share/census.db?mode=rw"),
        (pathlib.PurePosixPath("/data/a b#1?%.db"), "file:///data/a%20b%231%3F%25.db?mode=rw"),
        (pathlib.PurePosixPath(os.fsdecode(b"/data/\xff.db")), "file:///data/%FF.db?mode=rw"),
    ],
    ids=["a drive", "a share", "a name of marks", "a name that is not text"],
)
@pytest.mark.filterwarnings("ignore:pathlib.PurePath.as_uri:DeprecationWarning")
def test_sqlite_takes_the_address_of_a_ledger_on_every_system(path, address):
    assert address_of(path) == address
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):  # no such file, and not "invalid authority"
        sqlite3.connect(address, uri=True)


def test_the_address_of_a_ledger_leads_to_its_file(tmp_path):
    odd = tmp_path / os.fsdecode(b"caf\xe9 #1?mode=ro&%41.db")
    ledger = dplr.Ledger(odd, eps=1.0)
    assert odd.exists()
    assert dplr.Ledger(odd) == ledger


def test_text_is_written_with_the_same_line_ends_everywhere(monkeypatch, tmp_path):
    """Windows writes two bytes for the end of a line, unless it is told which."""
    ends = []
    plain = open

    def opened(path, mode="r", *given, **named):
        if not {"b"} & set(mode) and {"w", "x"} & set(mode):
            ends.append(named.get("newline"))
        return plain(path, mode, *given, **named)

    monkeypatch.setattr("builtins.open", opened)
    dplr.Bounds([(0, 1)]).to_toml(tmp_path / "bounds.toml")
    assert ends == ["\n"]
