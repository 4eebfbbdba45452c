"""Archiving: an item is set aside or brought back by writing it again as it is, with or without the mark."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.address import Address
from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Commit, Expect, Idempotency, Put, idempotency
from recollect.domain.errors import Contention, NotFound, RevisionConflict
from recollect.domain.indexable import wants_index
from recollect.domain.values import stored_value
from recollect.ports.store import Store
from recollect.service.guard import Ruling, given_in
from recollect.service.views import Written


@dataclass(frozen=True, slots=True)
class Wish:
    """Which item is to be set aside or brought back, in whose name, and on which condition."""

    tenant: str
    actor: str
    address: Address
    archived: bool
    expected: int | None
    key: str | None
    """The caller's name for the request, so that repeating it changes nothing."""

    def request(self) -> Idempotency | None:
        """How a repetition is recognised: by what was wished for, which stays the same while the item changes."""
        if self.key is None:
            return None
        mark = b"archived" if self.archived else b"restored"
        return idempotency(self.key, self.actor, (Put(self.address, mark, expected_revision=self.expected),))


async def archive(store: Store, wish: Wish, ruling: Ruling) -> Written:
    """Carry the wish out, on whatever the item is at that moment unless a revision is expected.

    Its plain attributes are extracted anew: those of the row may be from a policy before.
    """
    request = wish.request()
    while True:
        row = await store.get(wish.tenant, wish.address)
        if row is None or row.value is None:
            return await _answered_before(store, wish, request)
        sealed = None if row.attributes is None else stored_value(row.attributes)
        given = given_in(row.policy_attributes)
        place = wish.address.namespace.segments
        plain = await ruling.extracted_again(place, wish.address.key, stored_value(row.value), sealed, given)
        put = Put(
            wish.address,
            row.value,
            row.attributes,
            encode_attributes(plain),
            row.expires_at,
            expected_revision=row.revision if wish.expected is None else wish.expected,
            archived=wish.archived,
            index=wants_index(row.index_fields),
            index_fields=row.index_fields,
        )
        try:
            receipt = await store.commit(Commit(wish.tenant, (put,), ruling.conditions, wish.actor, request))
        except RevisionConflict:
            if wish.expected is not None:
                raise
        else:
            return Written(receipt.outcomes[0], receipt.replayed)


async def _answered_before(store: Store, wish: Wish, request: Idempotency | None) -> Written:
    """What a repetition was answered when there still was an item; otherwise there is none."""
    if request is not None:
        # The receipt comes before any condition, and this one holds for nothing that could be there.
        never = Expect(wish.address, 1 << 62)
        try:
            receipt = await store.commit(Commit(wish.tenant, (), (never,), wish.actor, request))
        except Contention:
            pass
        else:
            return Written(receipt.outcomes[0], receipt.replayed)
    raise NotFound("memory not found")
