"""A backup over the network: whole and private, or not there at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.sdk.scripted import PORTAL, Step, call, drops, fails, says, scripted

from recollect_client import BadAnswer, ConnectionFailed, errors

CONTENT = b"SQLite format 3\x00" + os.urandom(300_000)
FILE = says(200, CONTENT, kind="application/octet-stream")
_PROMISE = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 400000\r\n\r\n"


def broken(connection: object) -> None:
    connection.sendall(_PROMISE + CONTENT)  # type: ignore[attr-defined] # a socket


def test_a_backup_arrives_whole_and_private(flavour: str, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with scripted(FILE) as server:
        call(flavour, server.url, "backup", tmp_path / "copy", progress=lambda *step: told.append(step))
    target = tmp_path / "copy"
    assert target.read_bytes() == CONTENT
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert list(tmp_path.iterdir()) == [target]


def test_a_backup_that_broke_off_is_fetched_again(flavour: str, tmp_path: Path) -> None:
    with scripted(broken, drops, fails(503, "store_busy"), FILE) as server:
        call(flavour, server.url, "backup", str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (broken, ConnectionFailed),
        (drops, ConnectionFailed),
        (PORTAL, BadAnswer),
        (fails(403, "forbidden"), errors.Forbidden),
    ],
    ids=["broken", "drops", "portal", "forbidden"],
)
def test_a_failed_backup_leaves_nothing(
    flavour: str, tmp_path: Path, trouble: Step, error: type[errors.RecollectError]
) -> None:
    with scripted(trouble) as server, pytest.raises(error):
        call(flavour, server.url, "backup", tmp_path / "copy", client={"retries": 1})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_an_existing_target_is_refused_and_kept(flavour: str, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "copy"
    if kind == "file":
        target.write_text("mine")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / "nowhere")
    with scripted(FILE) as server, pytest.raises(errors.InvalidSetting, match="exists already"):
        call(flavour, server.url, "backup", target)
    assert server.requests == []
    assert kind != "file" or target.read_text() == "mine"


def test_a_target_that_appears_meanwhile_is_kept(flavour: str, tmp_path: Path) -> None:
    target = tmp_path / "copy"

    def meanwhile(done: int, everything: int) -> None:
        target.write_text("mine")

    with scripted(FILE) as server, pytest.raises(errors.InvalidSetting, match="exists already"):
        call(flavour, server.url, "backup", target, progress=meanwhile)
    assert target.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]


def test_a_place_that_cannot_be_written_is_told(flavour: str, tmp_path: Path) -> None:
    with scripted(FILE) as server, pytest.raises(errors.StoreUnavailable, match="cannot be written"):
        call(flavour, server.url, "backup", tmp_path / "missing" / "copy")
    assert len(server.requests) == 1


@pytest.mark.parametrize("target", ["", "a\x00b", 7])
def test_what_is_no_path_is_refused(flavour: str, target: str) -> None:
    with scripted(FILE) as server, pytest.raises(errors.InvalidSetting):
        call(flavour, server.url, "backup", target)
    assert server.requests == []
