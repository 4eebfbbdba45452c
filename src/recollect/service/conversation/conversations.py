"""Conversations: everything that one caller does with personas, together."""

from __future__ import annotations

from recollect.service.conversation.curating import Curating
from recollect.service.conversation.entities import Entities
from recollect.service.conversation.importing import Importing
from recollect.service.conversation.personas import Personas
from recollect.service.conversation.seeds import Seeds
from recollect.service.conversation.sessions import Sessions
from recollect.service.conversation.todos import Todos


class Conversations(Importing, Sessions, Todos, Entities, Curating, Seeds, Personas):
    """Sessions, turns, todos, entities, curations, imports, seeds and personas, in the name of one caller."""
