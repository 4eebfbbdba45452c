"""Every command by its name, in the groups in which the help shows them."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.cli import (
    access,
    capturing,
    consenting,
    conversing,
    curating,
    doing,
    entities,
    explaining,
    finding,
    importing,
    mcp,
    measuring,
    memories,
    moving,
    oversight,
    personas,
    policy,
    recalling,
    recording,
    reviewing,
    service,
    telling,
    timeline,
    tools,
    transfer,
    turning,
    upkeep,
)
from recollect.cli.here import Command


@dataclass(frozen=True, slots=True)
class Group:
    """Commands with a name in common, and what that name does alone: it prints the help, or what is said here."""

    panel: str
    meaning: str
    commands: dict[str, Command]
    alone: Command | None = None


COMMANDS: dict[str, dict[str, Command]] = {
    "Memories": {
        "put": memories.put,
        "get": memories.get,
        "rm": memories.rm,
        "search": finding.search,
        "ls": memories.ls,
        "history": memories.history,
        "archive": memories.archive,
        "unarchive": memories.unarchive,
    },
    "The way in": {
        "capture": capturing.capture,
        "captures": capturing.captures,
        "propose": capturing.propose,
        "remember": capturing.remember,
        "records": recording.records,
        "undo": recording.undo,
        "phase": recording.phase,
        "proposals": reviewing.proposals,
        "review": reviewing.review,
        "contradictions": reviewing.contradictions,
        "signals": reviewing.signals,
        "traces": reviewing.traces,
    },
    "The way out": {
        "recall": recalling.recall,
        "context": recalling.context,
        "turn": turning.turn,
        "replay": turning.replay,
        "trace": telling.trace,
        "why": telling.why,
        "why-not": telling.why_not,
        "diff": telling.diff,
    },
    "Conversations": {
        "talk": conversing.talk,
        "spine": conversing.spine,
        "curations": curating.curations,
    },
    "Agents": {"ipc": tools.ipc},
    "The log": {"log": timeline.log, "head": upkeep.head, "verify": upkeep.verify},
    "Service": {
        "serve": service.serve,
        "mcp": mcp.mcp,
        "doctor": service.doctor,
        "migrate": moving.migrate,
        "version": service.show_version,
    },
    "Access": {"whoami": access.whoami, "audit": oversight.audit, "report": measuring.report},
    "Keeping": {
        "backup": upkeep.backup,
        "restore": upkeep.restore,
        "export": transfer.export,
        "import": transfer.import_,
        "copy": moving.copy,
        "sweep": upkeep.sweep,
        "erase": upkeep.erase,
    },
}
"""The commands of one word, by the panel of the help."""


GROUPS: dict[str, Group] = {
    "record": Group(
        "The way in",
        "One record: show it, put it right, take it back, pin it, ask for it elsewhere.",
        {
            "show": recording.show,
            "correct": recording.correct,
            "retract": recording.retract,
            "pin": recording.pin,
            "unpin": recording.unpin,
            "promote": recording.promote,
        },
    ),
    "consent": Group(
        "The way in",
        "What subjects agreed to: add, list and revoke it.",
        {
            "add": consenting.add,
            "list": consenting.show_all,
            "show": consenting.show,
            "revoke": consenting.revoke,
        },
    ),
    "contradiction": Group(
        "The way in",
        "Settle what contradicts what is known.",
        {"resolve": reviewing.resolve},
    ),
    "profile": Group(
        "The way out",
        "Profiles, which govern turns: say what they are, and show them.",
        {"put": turning.put, "show": turning.show, "list": turning.show_all},
    ),
    "session": Group(
        "Conversations",
        "Sessions: list and show them, what was said in them, and say that one is over.",
        {
            "list": conversing.show_sessions,
            "show": conversing.show,
            "close": conversing.close,
            "messages": conversing.messages,
            "state": conversing.state,
        },
    ),
    "todo": Group(
        "Conversations",
        "What is to be done: commitments, habits, threads and frictions.",
        {
            "list": doing.show_all,
            "show": doing.show,
            "add": doing.add,
            "done": doing.done,
            "skip": doing.skip,
            "change": doing.change,
        },
    ),
    "persona": Group(
        "Conversations",
        "Personas, whom a user talks to: say what they are, and show them.",
        {"list": personas.show_all, "show": personas.show, "put": personas.put},
    ),
    "seed": Group(
        "Conversations",
        "What all personas are told of the user beforehand.",
        {"show": personas.show_seed, "put": personas.put_seed, "delete": personas.delete_seed},
    ),
    "entity": Group(
        "Conversations",
        "Whom and what the user speaks of, and which of them are one.",
        {
            "list": entities.show_all,
            "show": entities.show,
            "put": entities.put,
            "merge": entities.merge,
            "split": entities.split,
            "undo": entities.undo,
            "suggestions": entities.suggestions,
            "accept": entities.accept,
            "reject": entities.reject,
        },
    ),
    "converse": Group(
        "Conversations",
        "Conversations from elsewhere: take them over, with their times.",
        {"import": importing.import_conversation},
    ),
    "curate": Group(
        "Conversations",
        "Put the memories in order, and take that back.",
        {"undo": curating.undo},
        alone=curating.curate,
    ),
    "usage": Group(
        "The way out",
        "What of memory is used.",
        {"top": recalling.top, "show": recalling.usage},
    ),
    "tool": Group(
        "Agents",
        "What agents do with their tools: store, search, brief and delete.",
        {
            "store": tools.store,
            "search": tools.search,
            "brief": tools.brief,
            "delete": tools.delete,
            "list": tools.show,
        },
    ),
    "settings": Group(
        "Service",
        "Show every setting, and change some of them at run time.",
        {"show": oversight.show_settings, "set": oversight.set_settings, "unset": oversight.unset_settings},
        alone=service.settings,
    ),
    "tokens": Group(
        "Access",
        "API keys: make, list and revoke them.",
        {"create": access.create, "list": access.show, "revoke": access.revoke},
    ),
    "policy": Group(
        "Access",
        "The policy: who may read, write, find and approve what.",
        {
            "show": policy.show,
            "explain": explaining.explain,
            "init": policy.init,
            "test": policy.try_out,
            "simulate": policy.simulate,
            "push": policy.push,
            "rollback": policy.rollback,
        },
    ),
    "keys": Group(
        "Keeping",
        "The encryption keys: where they come from, and how they are renewed.",
        {"rotate": upkeep.rotate, "show": upkeep.show_keys},
    ),
    "index": Group(
        "Keeping",
        "What is done behind the scenes: how far it is, and how to hurry it.",
        {"status": oversight.index_status, "trigger": oversight.index_trigger},
    ),
}
"""The commands of two words, by the first."""
