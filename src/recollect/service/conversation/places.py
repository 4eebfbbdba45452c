"""Places: where everything is kept that a user and their personas have between turns."""

from __future__ import annotations

import msgspec

from recollect.domain.address import Address, Namespace, namespace
from recollect.domain.reasons import Plane

OPEN = namespace(("conversing", "sessions"))
"""The sessions that go on, of all users of a tenant: whose they are, and nothing of what was said."""
DUE = namespace(("conversing", "due"))
"""The summaries that are to be made, of all users of a tenant: of what, and whose."""
PERSONAS = namespace(("personas",))
"""The personas that a tenant described."""
ROLLING, SUMMARY, SPINE = "rolling", "summary", "spine"
"""What can be due."""


class Talks(msgspec.Struct, frozen=True):
    """What lies below one user."""

    user: str

    def own(self, *below: str) -> Namespace:
        """Where something of the user's is kept."""
        return namespace(("user", self.user, *below))

    def with_persona(self, persona: str, *below: str) -> Namespace:
        """Where something is kept that the user has with one persona alone."""
        return self.own("personas", persona, *below)

    @property
    def sessions(self) -> Namespace:
        """Where sessions are kept."""
        return self.own("sessions")

    @property
    def todos(self) -> Namespace:
        """Where todos are kept."""
        return self.own("todos")

    @property
    def spines(self) -> Namespace:
        """Where the versions of the spine are kept."""
        return self.own("spine")

    @property
    def summaries(self) -> Namespace:
        """Where the summaries of sessions are kept."""
        return self.own("summaries")

    @property
    def entities(self) -> Namespace:
        """Where entities are kept."""
        return self.own("entities")

    def messages(self, persona: str) -> Namespace:
        """Where messages are kept."""
        return self.with_persona(persona, "messages")

    def session(self, session_id: str) -> Address:
        """A session."""
        return Address(Plane.SESSION, self.sessions, session_id)

    def open_one(self, persona: str) -> Address:
        """Which session with a persona goes on."""
        return Address(Plane.LINK, self.with_persona(persona), "open")

    def state(self, persona: str) -> Address:
        """What outlives the sessions with a persona."""
        return Address(Plane.SESSION, self.with_persona(persona), "state")

    def counter(self, persona: str) -> Address:
        """How many messages there are with a persona, of either side."""
        return Address(Plane.LINK, self.with_persona(persona), "messages")

    def message(self, persona: str, number: int) -> Address:
        """A message."""
        return Address(Plane.TURN, self.messages(persona), f"{number:010d}")

    def request(self, digest: str) -> Address:
        """The turn that a request led to, by the key that its caller gave it."""
        return Address(Plane.LINK, self.own("turns", "requests"), digest)

    def rolling(self, session_id: str) -> Address:
        """The rolling summary of a session."""
        return Address(Plane.SUMMARY, self.own("rolling"), session_id)

    def summary(self, session_id: str) -> Address:
        """The summary of a session that is over."""
        return Address(Plane.SUMMARY, self.summaries, session_id)

    def spine(self, version: int) -> Address:
        """A version of the spine."""
        return Address(Plane.SUMMARY, self.spines, f"{version:06d}")

    @property
    def spine_counter(self) -> Address:
        """Which version of the spine is the last, and how many messages were said since."""
        return Address(Plane.LINK, self.own(), "spine")

    def todo(self, todo_id: str) -> Address:
        """A todo."""
        return Address(Plane.TODO, self.todos, todo_id)

    def signature(self, persona: str, digest: str) -> Address:
        """Which pending todo of a persona means this."""
        return Address(Plane.LINK, self.with_persona(persona, "signatures"), digest)

    @property
    def seed(self) -> Address:
        """What was told of the user beforehand."""
        return Address(Plane.SESSION, self.own(), "seed")

    def entity(self, digest: str) -> Address:
        """An entity, by its blinded ref."""
        return Address(Plane.ENTITY, self.entities, f"ent_{digest}")


def open_note(session_id: str) -> Address:
    """The note that a session goes on."""
    return Address(Plane.LINK, OPEN, session_id)


def due_note(kind: str, of: str) -> Address:
    """The note that a summary is to be made, of a session or of a user."""
    return Address(Plane.LINK, DUE, f"{kind} {of}")


def persona_at(name: str) -> Address:
    """A persona as the tenant described it."""
    return Address(Plane.SETTING, PERSONAS, name)
