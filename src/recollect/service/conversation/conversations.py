"""Conversations: everything that one caller does with personas, together."""

from __future__ import annotations

from recollect.service.conversation.curating import Curating
from recollect.service.conversation.entities import Entities
from recollect.service.conversation.personas import Personas
from recollect.service.conversation.seeds import Seeds
from recollect.service.conversation.sessions import Sessions
from recollect.service.conversation.todos import Todos
from recollect.service.conversation.turns import Conversing


class Conversations(Conversing, Sessions, Todos, Entities, Seeds, Personas, Curating):
    """Sessions, turns, todos, entities, seeds, personas and the curator, in the name of one caller."""
