"""Seeds: what is told of a user beforehand, for all personas to know."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.conversation.personas import MAX_SEED, UserSeed
from recollect.domain.errors import InvalidRequest
from recollect.domain.remembering.captures import kept_of
from recollect.domain.text import flaw_in
from recollect.service.conversation.places import Talks
from recollect.service.conversation.shown import shown
from recollect.service.conversation.talking import Talking
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting


class Seeds(Talking):
    """What was told beforehand, in the name of one caller."""

    async def get_seed(self) -> dict[str, Any]:
        """What was told of the caller beforehand."""
        return shown(await self._found_at(Talks(self._owner).seed, UserSeed, "seed"))

    async def put_seed(self, text: str) -> dict[str, Any]:
        """Tell something of the caller beforehand, in place of what was told before."""
        self._check_own_name()
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_SEED or flaw_in(text):
            raise InvalidRequest(f"a seed is text of 1 to {MAX_SEED:,} characters", field="text")
        address = Talks(self._owner).seed
        kept = kept_of(text, self._workings.remembering.terms.contract.privacy).text

        async def work(under_way: Promoting) -> UserSeed:
            await under_way.ruling.allow(Action.WRITE, address.namespace.segments, address.key)
            seed = UserSeed(text=kept, at=under_way.now)
            under_way.draft.put(address, msgspec.json.encode(seed))
            return seed

        return shown(await self._workings.remembering.within(self._caller, Places(self._owner), work))

    async def delete_seed(self) -> dict[str, Any]:
        """Forget what was told of the caller beforehand."""
        self._check_own_name()
        address = Talks(self._owner).seed

        async def work(under_way: Promoting) -> bool:
            await under_way.ruling.allow(Action.DELETE, address.namespace.segments, address.key)
            there = await under_way.draft.bytes_at(address) is not None
            if there:
                under_way.draft.delete(address)
            return there

        return {"deleted": await self._workings.remembering.within(self._caller, Places(self._owner), work)}
