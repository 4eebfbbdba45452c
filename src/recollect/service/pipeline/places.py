"""Places: where everything of the way in is kept, and how ids of records lead there."""

from __future__ import annotations

from hashlib import blake2b, sha256

import msgspec

from recollect.domain.address import Address, Namespace, namespace
from recollect.domain.governance.ids import Owners, spelt
from recollect.domain.governance.terms import Space
from recollect.domain.instants import Instant
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import place_in

TICK = Address(Plane.LINK, namespace(("system",)), "tick")
"""The counter of a tenant by which everything is numbered that happens there."""
QUEUE = namespace(("queue",))
"""What waits for a person, of all users of a tenant: ids and what sort it is of."""
QUEUED = namespace(("queued",))
"""Whose each proposal is that ever waited."""
PENDING = namespace(("pending",))
"""What waits to be looked into, of all users of a tenant: ids and who captured it."""
ENDINGS = namespace(("endings",))
"""When which record is over, of all users of a tenant, soonest first: nothing of what they say."""
LAPSES = namespace(("lapses",))
"""When which consent may cover less than before, soonest first, so that what rested on it is ended then."""
CONSENTED = namespace(("consents",))
"""Whose each consent is."""
NUMBERING = "numbering"
"""The key of the counters of a space."""
_MARK = "~"
_PARTED = "/"


def owner_name(*parts: str) -> str:
    """How ids name an owner: as it is called; where that could be mistaken for another's, with a digest of it."""
    whole = _PARTED.join(parts)
    plain = all(part and spelt(part) == part and _MARK not in part and _PARTED not in part for part in parts)
    return whole if plain else f"{spelt(whole)}{_MARK}{sha256(repr(parts).encode()).hexdigest()[:16]}"


class Places(msgspec.Struct, frozen=True):
    """The spaces of one call: whose they are, and where their records lie."""

    user: str
    session: str | None = None
    project: str | None = None

    def root(self, space: Space) -> Namespace:
        """Where the records of a space lie."""
        return namespace(self._roots()[space])

    def has(self, space: Space) -> bool:
        """Whether the call has such a space at all."""
        return space in self._roots()

    def _roots(self) -> dict[Space, tuple[str, ...]]:
        roots: dict[Space, tuple[str, ...]] = {Space.USER: ("user", self.user), Space.SYSTEM: ("system",)}
        if self.session is not None:
            roots[Space.SESSION] = ("user", self.user, "session", self.session)
        if self.project is not None:
            roots[Space.PROJECT] = ("project", self.project)
        return roots

    @property
    def owners(self) -> Owners:
        """Whose the spaces are, as ids name them."""
        apart = self.session is not None and self.session != self.user
        return Owners(
            session=owner_name(self.user, self.session or "") if apart else owner_name(self.user),
            user=owner_name(self.user),
            project=owner_name(self.project) if self.project is not None else "unknown",
        )

    def own(self, *below: str) -> Namespace:
        """Where something of the user's is kept that is no record."""
        return namespace(("user", self.user, *below))

    def captures(self, capture_id: str) -> Address:
        """A capture."""
        return Address(Plane.CAPTURE, self.own("captures"), capture_id)

    def work(self, capture_id: str) -> Address:
        """The note that a capture was not looked into yet."""
        return Address(Plane.LINK, self.own("captures"), capture_id)

    def answers(self, capture_id: str) -> Address:
        """What an extractor answered about a capture."""
        return Address(Plane.CAPTURE, self.own("extractions"), capture_id)

    def proposal(self, proposal_id: str) -> Address:
        """A proposal."""
        return Address(Plane.PROPOSAL, self.own("proposals"), proposal_id)

    def contradiction(self, event_id: str) -> Address:
        """A contradiction."""
        return Address(Plane.CONTRADICTION, self.own("contradictions"), event_id)

    def trace(self, trace_id: str) -> Address:
        """The traces of one call."""
        return Address(Plane.TRACE, self.own("traces"), trace_id)

    def signal(self, signal_id: str) -> Address:
        """Something to learn from."""
        return Address(Plane.TRACE, self.own("signals"), signal_id)

    def rejection(self, digest: str) -> Address:
        """The note that a claim was rejected."""
        return Address(Plane.LINK, self.own("rejections"), digest)

    def counters(self, space: Space) -> Address:
        """How far the numbering of a space has come, and its phases."""
        return Address(Plane.LINK, self.root(space), NUMBERING)

    def phase(self, space: Space, phase_id: str) -> Address:
        """What a space held at the end of a phase."""
        return Address(Plane.LINK, namespace((*self.root(space).segments, "phases")), phase_id)

    def turn(self, number: int) -> Address:
        """A step of a conversation."""
        return Address(Plane.TURN, self.root(Space.SESSION), f"{number:010d}")

    def request(self, digest: str) -> Address:
        """The step that a request led to, by the key that its caller gave it."""
        return Address(Plane.LINK, namespace((*self.root(Space.SESSION).segments, "requests")), digest)

    def record(self, space: Space, key: str) -> Address:
        """A record."""
        return Address(Plane.RECORD, self.root(space), key)

    def claim(self, space: Space, digest: str) -> Address:
        """Which records of a space say something about the same thing."""
        root = self.root(space)
        return Address(Plane.LINK, namespace((*root.segments, "claims")), digest)


def queued(proposal_id: str, *, decided: bool = False) -> Address:
    """The note that a proposal waits, or whose proposal it is that ever did."""
    return Address(Plane.LINK, QUEUED if decided else QUEUE, proposal_id)


def places_at(root: Namespace, teller: str) -> Places:
    """The places whose records lie at a root; where they are nobody's own, those of whom it is told to."""
    segments = root.segments
    if segments[0] == "user":
        return Places(segments[1], segments[3] if len(segments) > 3 else None)
    return Places(teller, None, segments[1] if segments[0] == "project" else None)


def ending(record_id: str, ends_at: Instant) -> Address:
    """The note that a record will be over."""
    return Address(Plane.LINK, ENDINGS, f"{ends_at:020d} {record_id}")


def lapse(consent_id: str, at: Instant) -> Address:
    """The note that a consent may cover less than before."""
    return Address(Plane.LINK, LAPSES, f"{at:020d} {consent_id}")


def consents_of(subject: str) -> Namespace:
    """Where the consents of a subject are kept: with a user's own things, so that they are erased with them."""
    kind, _, name = subject.partition(":")
    return namespace(("user", name, "consents")) if kind == "user" else namespace(("consents", subject))


def places_of(record_id: str, own: Places) -> tuple[Places, Space, str] | None:
    """The places that an id leads to, with the space and the key; None where it leads nowhere.

    An owner that ids cannot spell stands in them as a digest, which leads to nobody but `own`.
    """
    named = place_in(record_id)
    if named is None:
        return None
    space, owner, key = named
    if _MARK in owner:
        return (own, space, key) if own.has(space) and own.owners.of(space) == owner else None
    if space is Space.SESSION:
        user, parted, session = owner.partition(_PARTED)
        # A session that is called like its user is spelt once: with one conversation a user, ids are the plainest.
        return (Places(user, session if parted else user), space, key) if session or not parted else None
    return Places(owner if space is Space.USER else "", None, owner if space is Space.PROJECT else None), space, key


def blinded(key: bytes, *parts: str) -> str:
    """What stands for these words in a key that anybody with the database can read."""
    return blake2b(msgspec.msgpack.encode(parts), key=key, digest_size=20).hexdigest()
