"""Drafts: what one transaction has read and is about to write, so that it sees its own writes."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.address import Address
from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Delete, Put
from recollect.domain.instants import Instant
from recollect.domain.values import stored_value
from recollect.ports.units import UnitOfWork


class Draft:
    """Reads through a unit of work, and writes into it when it is done: each address once, as it was left."""

    def __init__(self, unit: UnitOfWork) -> None:
        self.unit = unit
        self._read: dict[Address, bytes | None] = {}
        self._written: dict[Address, Put | Delete] = {}

    async def bytes_at(self, address: Address) -> bytes | None:
        """The value at an address, as this draft leaves it."""
        written = self._written.get(address)
        if written is not None:
            return written.value if isinstance(written, Put) else None
        if address not in self._read:
            row = await self.unit.get(address)
            self._read[address] = None if row is None else row.value
        return self._read[address]

    async def at(self, address: Address) -> dict[str, Any] | None:
        """The object at an address, as this draft leaves it."""
        value = await self.bytes_at(address)
        return None if value is None else dict(stored_value(value))

    def put(
        self,
        address: Address,
        value: Any,
        labels: dict[str, Any] | None = None,
        *,
        expires_at: Instant | None = None,
        fields: str | None = None,
        new: bool = False,
        archived: bool = False,
    ) -> None:
        """Leave a value at an address; `fields` are those that can be searched for, `new` refuses to replace one."""
        self._written[address] = Put(
            address,
            value if isinstance(value, bytes) else msgspec.json.encode(value),
            None,
            encode_attributes(labels),
            expires_at,
            expected_revision=0 if new else None,
            index=fields is not None,
            index_fields=fields,
            archived=archived,
        )

    def delete(self, address: Address) -> None:
        """Leave nothing at an address."""
        self._written[address] = Delete(address)

    @property
    def size(self) -> int:
        """How many addresses it writes to."""
        return len(self._written)

    def finish(self) -> None:
        """Hand everything to the unit of work, which commits it."""
        for operation in self._written.values():
            self.unit.write(operation)
