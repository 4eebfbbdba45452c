"""Databases on one server, each for one subject, all dropped in the end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql


class Databases:
    """Fresh databases on a server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers = itertools.count()
        self._made: list[str] = []

    def fresh(self) -> str:
        """The URL of a database with nothing in it."""
        name = f"bench_{next(self._numbers)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        self._made.append(name)
        return self._named(name)

    def settle(self) -> None:
        """Let the server do at once what it would do by itself within a minute of a large write."""
        for name in self._made:
            with psycopg.connect(self._named(name), autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    def drop(self) -> None:
        """Drop all that were made so far."""
        made, self._made = self._made, []
        with psycopg.connect(self._url, autocommit=True) as connection:
            for name in made:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def version(self) -> str:
        """The server's version."""
        with psycopg.connect(self._url) as connection:
            return str(connection.info.parameter_status("server_version"))

    def _named(self, name: str) -> str:
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))


@contextmanager
def databases(url: str) -> Iterator[Databases]:
    """Databases for as long as the block lasts."""
    made = Databases(url)
    try:
        yield made
    finally:
        made.drop()
