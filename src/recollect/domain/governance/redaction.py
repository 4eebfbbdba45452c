"""Redaction: what a trace may show of a text, and of the keys that are made from it."""

from __future__ import annotations

import msgspec

from recollect.domain.governance.gate import is_forbidden, is_personal, is_sensitive, privacy_flaw
from recollect.domain.governance.items import Item
from recollect.domain.governance.keys import digest_of, is_digested
from recollect.domain.governance.phases import PhaseRequest
from recollect.domain.governance.policy import Privacy
from recollect.domain.governance.terms import Kind

WITHHELD = "(redacted)"
MOST_TEXT = 200
TRUNCATED = "... (truncated)"


class Redaction(msgspec.Struct, frozen=True):
    """What one call's traces show. What privacy would not let be written, no trace shows either."""

    privacy: Privacy = Privacy()
    salt: str = ""
    """Mixed into the digests that stand for withheld keys, so that short secrets cannot be guessed from them."""

    def withholds(self, text: str) -> bool:
        """True when the text is not to be shown at all: what opens doors, and what is somebody's own to tell."""
        return is_forbidden(text, self.privacy) or is_sensitive(text) or is_personal(text)

    def shown(self, text: str) -> str:
        """The text on one line and not too long, or a word in its place."""
        return WITHHELD if self.withholds(text) else _short(text)

    def shown_key(self, item: Item) -> str | None:
        """The dedup key of an item; where the text is withheld, a digest stands for the words in it."""
        return self._key(item, withheld=self.withholds(item.text))

    def hidden(self, item: Item) -> Item:
        """The item without its words, for what is told of people that may have to be forgotten."""
        return self.shown_item(item, withheld=True)

    def shown_item(self, item: Item, *, withheld: bool = False) -> Item:
        """The item as traces show it; `withheld` when more than its own text speaks against showing it."""
        withheld = withheld or self.withholds(item.text)
        name, reason = item.meta.phase_name, item.meta.phase_reason
        return msgspec.structs.replace(item, text=WITHHELD if withheld else _short(item.text)).with_meta(
            dedup_key=self._key(item, withheld=withheld),
            phase_name=name and self.shown(name),
            phase_reason=reason and self.shown(reason),
        )

    def kept_request(self, asked: PhaseRequest) -> PhaseRequest:
        """The request for a phase as it may be kept; a digest stands for a token that holds a secret."""
        name, reason = (each and self._kept(each) for each in (asked.name, asked.reason))
        token = digest_of(asked.token, self.salt) if is_sensitive(asked.token) else asked.token
        return PhaseRequest(token, name, reason)

    def _kept(self, text: str) -> str:
        return text if privacy_flaw(text, self.privacy) is None else WITHHELD

    def _key(self, item: Item, *, withheld: bool) -> str | None:
        """The key of a profile fact has no words of the text in it."""
        key = item.meta.dedup_key
        if key is None or not withheld or item.kind is Kind.PROFILE:
            return key
        return key if item.text == WITHHELD and is_digested(key) else self.digested(key)

    def digested(self, key: str) -> str:
        """The key with a digest in place of its words."""
        about, _, words = key.partition(":")
        return f"{about}:{digest_of(words, self.salt)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_TEXT else flat[:MOST_TEXT] + TRUNCATED
