"""To what a sealed field is bound, so that it opens in its own place and nowhere else."""

from __future__ import annotations

import msgspec

from recollect.domain.address import Address

_FORMAT = "recollect-seal/1"
_pack = msgspec.msgpack.Encoder().encode


def binding(tenant: str, address: Address, row_id: bytes, revision: int, field: str, key_id: bytes) -> bytes:
    """The associated data of a sealed field: every part with its length, so that no two places share one."""
    return _pack(
        (
            _FORMAT,
            tenant,
            address.plane,
            address.namespace.encoded,
            address.key,
            row_id,
            revision,
            field,
            key_id,
        )
    )
