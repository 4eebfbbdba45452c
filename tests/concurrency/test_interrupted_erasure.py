"""An erasure that another process began is finished by whoever writes next, even if that write fails at first."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import recollect
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions
from recollect.domain.instants import Instant
from recollect.main import random_ids
from recollect.ports.keys import Destruction


def test_a_destruction_noticed_by_a_write_that_failed_is_noticed_again(tmp_path: Path) -> None:
    failures = [OSError("no entropy")]

    def ids(at: Instant) -> bytes:
        if len(written) == 1 and failures:
            raise failures.pop()
        return random_ids(at)

    written: list[recollect.Written] = []
    with recollect.open_sync(tmp_path, ids=ids) as memories:
        written.append(memories.put(("user", "x"), "old", {}))
        with closing(SqliteKeyStore(SqliteOptions(tmp_path / "keys" / "wrapped.db"))) as keys:  # and then it crashes
            keys.destroy(Destruction(random_ids(Instant(0)), "default", "user:x", Instant(0), "", settled=False))
        with pytest.raises(OSError, match="no entropy"):
            memories.put(("user", "x"), "failed", {})
        memories.put(("user", "x"), "new", {"n": 1})
    with recollect.open_sync(tmp_path) as memories:
        assert memories.get(("user", "x"), "old") is None
        item = memories.get(("user", "x"), "new")
        assert item is not None
        assert item.value == {"n": 1}
