"""Several servers over one store: in one data directory, or, over a database, each in one of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.concurrency.crew import in_threads

from recollect.testing.servers import Server

BOUNDLESS = {"rate_per_second": 0, "failures_per_second": 0}
PLAIN = {**BOUNDLESS, "policy_engine": "builtin"}
"""Without a process for policies, where many servers are started and policies do not matter."""
_SHARED = ("keys/master.key", "credentials.json")


class Fleet:
    """So many servers, with the same settings, the same master key and the same administrator. A context manager."""

    def __init__(self, folder: Path, count: int, **settings: object) -> None:
        self._over_database = "store" in settings
        homes = [folder / str(number) if self._over_database else folder for number in range(count)]
        self.servers = [Server(home, **settings) for home in homes]

    @property
    def token(self) -> str:
        """The administrator's key."""
        return self.servers[0].token

    @property
    def urls(self) -> list[str]:
        """Where they are."""
        return [server.url for server in self.servers]

    def start(self) -> Fleet:
        """Start the first, which makes what is missing, and then all others at once."""
        first, *others = self.servers
        first.start()
        if self._over_database:
            for server in others:
                share(first.home, server.home)
        if others:
            in_threads(*(server.start for server in others))
        return self

    def stop(self) -> list[int]:
        """Stop all, and return their exit codes."""
        return in_threads(*(server.stop for server in self.servers))

    def __enter__(self) -> Fleet:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *problem: object) -> None:
        self.stop()


def share(home: Path, other: Path) -> None:
    """Give another data directory the master key and the administrator's key, as an operator would."""
    (other / "keys").mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in _SHARED:
        shutil.copy2(home / name, other / name)
