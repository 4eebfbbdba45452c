"""Memories for code without an event loop; generated from the use-cases by `make generate`.

The store underneath was opened `direct`: its coroutines never suspend, so each can be driven to its end
on the caller's own thread.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from uuid import UUID

from recollect.domain.callers import Caller
from recollect.domain.conversation.personas import DEFAULT_PERSONA
from recollect.domain.conversation.todos import LoopKind
from recollect.domain.governance.terms import Space
from recollect.domain.notes import GROUP
from recollect.domain.queries import Archived, Order
from recollect.domain.ranking import Mode
from recollect.domain.rows import Item
from recollect.ports.policy import Explanation, Report
from recollect.ports.store import Progress, Verification
from recollect.service.audit import AuditPage
from recollect.service.governing.profiles import DEFAULT
from recollect.service.memories import Memories
from recollect.service.pipeline.capturing import NOW
from recollect.service.pipeline.reviewing import CLAIM_SECONDS
from recollect.service.policies import PolicyInForce, Simulation
from recollect.service.recalling.contexts import BUDGET, LIMIT
from recollect.service.tokens import NewToken, Token
from recollect.service.transfer import ExportPage, Imported
from recollect.service.tuning import Tuned
from recollect.service.views import DeleteOp, ErasureReceipt, Events, Found, IndexStatus, PutOp, Sweep, Written

Result = TypeVar("Result")


def drive(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never suspends to its end, here and now."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    coroutine.close()
    raise RuntimeError("the store underneath suspended; it was not opened for direct use")


class MemoriesSync:
    """The memories of one tenant. Get one from `recollect.open_sync`."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    def for_tenant(self, tenant: str, *, actor: str = "") -> MemoriesSync:
        """The memories of another tenant in the same store, or of the same one in somebody else's name."""
        return MemoriesSync(self._memories.for_tenant(tenant, actor=actor))

    def for_caller(self, caller: Caller) -> MemoriesSync:
        """The same memories as this caller may see and change them; made from a credential at the door."""
        return MemoriesSync(self._memories.for_caller(caller))

    def justified(self, why: str, *, as_user_id: str | None = None) -> MemoriesSync:
        """The same memories for an administrator who says why; every read is written down with it.

        With `as_user_id`, as that user would see them: without any roles, and to read only.
        """
        return MemoriesSync(self._memories.justified(why, as_user_id=as_user_id))

    def whoami(self) -> Caller:
        """In whose name this is."""
        return drive(self._memories.whoami())

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        *,
        attributes: Mapping[str, Any] | None = None,
        policy_attributes: Mapping[str, Any] | None = None,
        ttl: float | timedelta | None = None,
        expires_at: datetime | None = None,
        index_fields: Sequence[str] | None = None,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
        wait: str | None = None,
    ) -> Written:
        """Remember a value under a key, in place of the one it may have.

        `attributes` are sealed like the value; `policy_attributes` are flat and plain, and what `search`
        filters by. `ttl` is in seconds. `index_fields` are the paths of the fields that a query can find, like
        `text` or `notes[*].text`; an empty list stands for none. `expected_revision` refuses the write unless the key
        is at that revision, 0 meaning absent. With an `idempotency_key`, repeating the call changes nothing. With
        `wait="indexed"`, it returns once queries find it.
        """
        return drive(
            self._memories.put(
                namespace,
                key,
                value,
                attributes=attributes,
                policy_attributes=policy_attributes,
                ttl=ttl,
                expires_at=expires_at,
                index_fields=index_fields,
                expected_revision=expected_revision,
                idempotency_key=idempotency_key,
                wait=wait,
            )
        )

    def delete(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete a key. Deleting what is not there changes nothing."""
        return drive(
            self._memories.delete(namespace, key, expected_revision=expected_revision, idempotency_key=idempotency_key)
        )

    def batch(
        self, operations: Iterable[PutOp | DeleteOp], *, idempotency_key: str | None = None, wait: str | None = None
    ) -> list[Written]:
        """Carry out up to 1,000 operations at once: all of them or none; with `wait="indexed"`, and index them."""
        return drive(self._memories.batch(operations, idempotency_key=idempotency_key, wait=wait))

    def archive(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        archived: bool = True,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Set an item aside, or bring it back: it keeps its value, but is found only when asked for."""
        return drive(
            self._memories.archive(
                namespace, key, archived=archived, expected_revision=expected_revision, idempotency_key=idempotency_key
            )
        )

    def get(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        as_of: datetime | None = None,
        archived: str = Archived.EXCLUDE,
        include_usage: bool = False,
    ) -> Item | None:
        """The item under a key, or None. With `as_of`, as it was at that moment, while its history is kept.

        It counts as a load of the item, unless it is a look at the past or is justified. With `include_usage`, the
        item says how often it was loaded before.
        """
        return drive(self._memories.get(namespace, key, as_of=as_of, archived=archived, include_usage=include_usage))

    def get_by_id(self, item_id: UUID) -> Item | None:
        """The version of an item with this id, live or not; None when there is none that the caller may read."""
        return drive(self._memories.get_by_id(item_id))

    def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        filter: Mapping[str, Any] | None = None,
        query: str | Sequence[str] | None = None,
        mode: str = Mode.HYBRID,
        min_score: float | None = None,
        explain: bool = False,
        wait: float | None = None,
        order: str = Order.NEWEST,
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
        as_of: datetime | None = None,
        archived: str = Archived.EXCLUDE,
        include_usage: bool = False,
    ) -> Found:
        """Items at or below a namespace whose policy attributes match a filter; with a `query`, those that answer it.

        Without a query, continue with the `cursor` of the answer; in `key` order, paging meets everything that exists
        throughout exactly once. With one, the best come first: by words and by meaning, or by one of them (`mode`).
        Several queries are put together by their ranks. `explain` says what each arm found. With `wait`, so many
        seconds are given to what was written before to be indexed; in process, where nobody else indexes, all of it is
        indexed first unless `wait` says otherwise. A search is no load; with `include_usage`, items say how often they
        were loaded.
        """
        return drive(
            self._memories.search(
                namespace_prefix,
                filter=filter,
                query=query,
                mode=mode,
                min_score=min_score,
                explain=explain,
                wait=wait,
                order=order,
                limit=limit,
                offset=offset,
                cursor=cursor,
                as_of=as_of,
                archived=archived,
                include_usage=include_usage,
            )
        )

    def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
        archived: str = Archived.EXCLUDE,
    ) -> list[tuple[str, ...]]:
        """The namespaces that have items, sorted. `*` in prefix or suffix stands for exactly one segment."""
        return drive(
            self._memories.list_namespaces(
                prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset, archived=archived
            )
        )

    def history(
        self, namespace: Sequence[str], key: str, *, limit: int = 100, before_revision: int | None = None
    ) -> list[Item]:
        """Every kept version of a key, newest first, with when and why each ended."""
        return drive(self._memories.history(namespace, key, limit=limit, before_revision=before_revision))

    def events(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        wait: float = 0.0,
    ) -> Events:
        """A page of what happened, in order, after a cursor; from the beginning without one.

        With `wait`, an empty answer is held back until something happens or so many seconds have passed.
        """
        return drive(
            self._memories.events(
                namespace_prefix, after=after, kinds=kinds, since=since, until=until, limit=limit, wait=wait
            )
        )

    def close(self) -> None:
        """Finish what was acknowledged and close everything."""
        return drive(self._memories.close())

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools of an agent: what each is for, takes and gives, and what it does to what is remembered."""
        return drive(self._memories.list_tools())

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, session: str | None = None, group: str = GROUP
    ) -> dict[str, Any]:
        """What a tool gives for these arguments, on the notes of a group.

        A session has budgets, so it must be named to store and to delete. Session and group are told by whoever runs
        the agent, never by the agent itself.
        """
        return drive(self._memories.call_tool(name, arguments, session=session, group=group))

    def brief(self, *, group: str = GROUP) -> str:
        """What an agent should know at the beginning of a session, in markdown; nothing when there is nothing.

        A session begins without it rather than not at all: what fails, or takes longer than 5 seconds, is empty too.
        """
        return drive(self._memories.brief(group=group))

    def converse(
        self,
        user: str | None = None,
        *,
        ai: str | None = None,
        persona: str = DEFAULT_PERSONA,
        session: str | None = None,
        private: bool = False,
        project: str | None = None,
        at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Take in what the user said, what the persona answered, or both: one turn, in one transaction.

        It goes into the session with the persona that goes on, or into a new one after half an hour of silence. What
        of the user's words is worth remembering goes the way that everything goes in, for all personas, or with
        `private` for this one alone. With an `at`, it was said then: turns are told in their order. With an
        `idempotency_key`, a repeated call changes nothing and is answered the same.
        """
        return drive(
            self._memories.converse(
                user,
                ai=ai,
                persona=persona,
                session=session,
                private=private,
                project=project,
                at=at,
                idempotency_key=idempotency_key,
            )
        )

    def import_conversation(
        self, turns: Sequence[Mapping[str, Any]], *, source: str, position: int, persona: str = DEFAULT_PERSONA
    ) -> dict[str, Any]:
        """Take a page of a conversation from elsewhere: its turns in order, from a position in their source.

        A source is named by the SHA-256 of what was read. A turn has an `at`, what `user` or `ai` said, and perhaps a
        `persona` and a `conversation`; a session ends where another conversation begins. What was taken before is not
        taken again, so that an import which was interrupted is repeated from where `conversation_progress` says.
        """
        return drive(self._memories.import_conversation(turns, source=source, position=position, persona=persona))

    def conversation_progress(self, source: str) -> dict[str, Any]:
        """How far the import of a source came; 0 for one that was never begun."""
        return drive(self._memories.conversation_progress(source))

    def list_sessions(
        self, *, persona: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """The sessions of the caller, those in which something was said last first."""
        return drive(self._memories.list_sessions(persona=persona, limit=limit, cursor=cursor))

    def get_session(self, session_id: str) -> dict[str, Any]:
        """A session, with its rolling summary, and the one that was made when it was over."""
        return drive(self._memories.get_session(session_id))

    def close_session(self, session_id: str) -> dict[str, Any]:
        """End a session; its summary is made of it. One that is over stays as it is."""
        return drive(self._memories.close_session(session_id))

    def get_session_state(self, persona: str = DEFAULT_PERSONA) -> dict[str, Any]:
        """What is known of the caller and a persona across their sessions, and which session goes on."""
        return drive(self._memories.get_session_state(persona))

    def list_messages(
        self, *, persona: str | None = None, session: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """What was said, newest first: with all personas, with one, or in one session."""
        return drive(self._memories.list_messages(persona=persona, session=session, limit=limit, cursor=cursor))

    def list_spines(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """The versions of the spine, newest first."""
        return drive(self._memories.list_spines(limit=limit, cursor=cursor))

    def get_spine(self, version: int | None = None) -> dict[str, Any]:
        """The spine as it is now, or in an earlier version."""
        return drive(self._memories.get_spine(version))

    def summarize_pending(self) -> int:
        """End what fell silent and make every summary that is due in the tenant, now; say how many were made."""
        return drive(self._memories.summarize_pending())

    def list_todos(
        self,
        *,
        persona: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """The todos of the caller, changed last first."""
        return drive(self._memories.list_todos(persona=persona, kind=kind, status=status, limit=limit, cursor=cursor))

    def get_todo(self, todo_id: str) -> dict[str, Any]:
        """A todo."""
        return drive(self._memories.get_todo(todo_id))

    def add_todo(
        self,
        content: str,
        *,
        kind: str = LoopKind.COMMITMENT,
        persona: str = DEFAULT_PERSONA,
        dedupe_key: str | None = None,
    ) -> dict[str, Any]:
        """Add a todo by hand. One that is pending and means the same is given in its place."""
        return drive(self._memories.add_todo(content, kind=kind, persona=persona, dedupe_key=dedupe_key))

    def change_todo(
        self, todo_id: str, *, status: str | None = None, kind: str | None = None, content: str | None = None
    ) -> dict[str, Any]:
        """Say how far a todo is, what sort it is, or what it says."""
        return drive(self._memories.change_todo(todo_id, status=status, kind=kind, content=content))

    def list_entities(self, *, type: str | None = None, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """Everybody and everything that was spoken of, what was spoken of last first; other names are not listed."""
        return drive(self._memories.list_entities(type=type, limit=limit, cursor=cursor))

    def get_entity(self, ref: str, *, persona: str | None = None) -> dict[str, Any]:
        """Whom a ref means: other names, what is known, how often it was spoken of, and what is disputed or changed.

        What only one persona knows is told to that persona.
        """
        return drive(self._memories.get_entity(ref, persona=persona))

    def list_entity_suggestions(
        self, *, status: str = "open", limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Which entities may be the same, the last suggested first; by default those that nobody decided about."""
        return drive(self._memories.list_entity_suggestions(status=status, limit=limit, cursor=cursor))

    def put_entity(self, ref: str, *, label: str | None = None, aliases: Sequence[str] | None = None) -> dict[str, Any]:
        """Name an entity, and let more names lead to it. Names that it has already stay; `split_entity` takes them."""
        return drive(self._memories.put_entity(ref, label=label, aliases=aliases))

    def merge_entities(self, ref: str, into: str, *, forced: bool = False) -> dict[str, Any]:
        """Say that two entities are the same; the first is another name of the second, on every card, at once."""
        return drive(self._memories.merge_entities(ref, into, forced=forced))

    def split_entity(self, ref: str, *, aliases: Sequence[str]) -> dict[str, Any]:
        """Say that some names of an entity, or refs that were merged into it, are one of their own."""
        return drive(self._memories.split_entity(ref, aliases=aliases))

    def undo_entity_change(self, change_id: str) -> dict[str, Any]:
        """Take a change back; refused when what it changed was changed again since."""
        return drive(self._memories.undo_entity_change(change_id))

    def decide_entity_suggestion(self, suggestion_id: str, accept: bool) -> dict[str, Any]:
        """Say whether two that may be the same are; if so they are merged, and if not, nobody asks again."""
        return drive(self._memories.decide_entity_suggestion(suggestion_id, accept))

    def curate(self, *, persona: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Put away copies and trifles, and tell together what is known of one entity; all of it can be undone.

        With a persona, only what that one knows is looked at. With `dry_run`, nothing is written, and the same is told.
        """
        return drive(self._memories.curate(persona=persona, dry_run=dry_run))

    def list_curations(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """What the curator did, newest first: ids, and nothing of what the memories say."""
        return drive(self._memories.list_curations(limit=limit, cursor=cursor))

    def undo_curation(self, curation_id: str) -> dict[str, Any]:
        """Take back what one run of the curator did: what was put away is there again, as it was.

        What changed since stays as it is, and the answer says which that is and why.
        """
        return drive(self._memories.undo_curation(curation_id))

    def get_seed(self) -> dict[str, Any]:
        """What was told of the caller beforehand."""
        return drive(self._memories.get_seed())

    def put_seed(self, text: str) -> dict[str, Any]:
        """Tell something of the caller beforehand, in place of what was told before."""
        return drive(self._memories.put_seed(text))

    def delete_seed(self) -> dict[str, Any]:
        """Forget what was told of the caller beforehand."""
        return drive(self._memories.delete_seed())

    def list_personas(self) -> dict[str, Any]:
        """The personas that the tenant described, by name, and the one that is there in any case."""
        return drive(self._memories.list_personas())

    def get_persona(self, name: str) -> dict[str, Any]:
        """A persona as the tenant described it. One that nobody described can be talked to all the same."""
        return drive(self._memories.get_persona(name))

    def put_persona(
        self, name: str, settings: Mapping[str, Any], *, expected_version: int | None = None
    ) -> dict[str, Any]:
        """Describe a persona, in place of how it was described before. Administrators do.

        The settings may have a `label`, a `description`, `idle_seconds` and `spine`.
        """
        return drive(self._memories.put_persona(name, settings, expected_version=expected_version))

    def conversation_context(
        self,
        query: str | None = None,
        *,
        persona: str = DEFAULT_PERSONA,
        session: str | None = None,
        budget: int = BUDGET,
        counter: str = "chars",
        form: str = "json",
        template: str | Mapping[str, Any] | None = None,
        wait: float | None = None,
        at: datetime | None = None,
    ) -> dict[str, Any]:
        """The pack for the next call of a model in a conversation: memories, what is open, summaries, the last words.

        Without a query, the last words of the user in the session are asked with. A session is the one that goes on
        unless one is named. `at` is the moment that recency and recent wins are counted from, now unless it is given;
        the pack itself has no clock. Besides the pack there is told which memories were recalled and not offered to
        it, and why.
        """
        return drive(
            self._memories.conversation_context(
                query,
                persona=persona,
                session=session,
                budget=budget,
                counter=counter,
                form=form,
                template=template,
                wait=wait,
                at=at,
            )
        )

    def capture(
        self, captures: Sequence[Mapping[str, Any]], *, remember: str = NOW, idempotency_key: str | None = None
    ) -> list[dict[str, Any]]:
        """Append what was said and done, and remember what of it the rules let in.

        Each has a `text` and may have a `kind` (`turn`, `tool_result`, `decision`, `effect`), a `speaker`, a `session`,
        a `project`, a `tool`, `refs` and `via`. With `remember="later"` it is looked into in the background.
        """
        return drive(self._memories.capture(captures, remember=remember, idempotency_key=idempotency_key))

    def get_capture(self, capture_id: str) -> dict[str, Any]:
        """A capture, and what became of it."""
        return drive(self._memories.get_capture(capture_id))

    def list_captures(
        self, *, session: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """The captures of the caller, newest first."""
        return drive(self._memories.list_captures(session=session, limit=limit, cursor=cursor))

    def would_remember(self, capture: Mapping[str, Any]) -> dict[str, Any]:
        """What would be remembered of something, and why not the rest; nothing is written."""
        return drive(self._memories.would_remember(capture))

    def propose(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        """Propose a typed candidate, in the shape of a memory write proposal; the service makes every check anew."""
        return drive(self._memories.propose(proposal))

    def remember_pending(self) -> int:
        """Look into everything that waits in the tenant, now; say how much that was."""
        return drive(self._memories.remember_pending())

    def get_record(self, record_id: str) -> dict[str, Any]:
        """A record, with everything that is known of it; nothing at all once it may not be seen."""
        return drive(self._memories.get_record(record_id))

    def list_records(
        self,
        *,
        space: str = Space.USER,
        session: str | None = None,
        project: str | None = None,
        kind: str | None = None,
        tier: str | None = None,
        event_type: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """The records of a space, newest first."""
        return drive(
            self._memories.list_records(
                space=space,
                session=session,
                project=project,
                kind=kind,
                tier=tier,
                event_type=event_type,
                limit=limit,
                cursor=cursor,
            )
        )

    def correct_record(
        self, record_id: str, *, value: Any = None, text: str | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """Say what is right in place of what a record says; it goes the way that everything goes in."""
        return drive(self._memories.correct_record(record_id, value=value, text=text, note=note))

    def retract_record(self, record_id: str) -> dict[str, Any]:
        """Take a record back: it is told that it is gone, and nothing of it is given to anybody."""
        return drive(self._memories.retract_record(record_id))

    def pin_record(self, record_id: str, *, pinned: bool = True) -> dict[str, Any]:
        """Keep a record whatever its tier says, or no longer."""
        return drive(self._memories.pin_record(record_id, pinned=pinned))

    def promote_record(self, record_id: str, to_space: str, *, project: str | None = None) -> dict[str, Any]:
        """Ask for a record to be known in another space; the rules say whether it may, and the policy who decides."""
        return drive(self._memories.promote_record(record_id, to_space, project=project))

    def start_phase(
        self,
        token: str,
        *,
        name: str | None = None,
        reason: str | None = None,
        space: str = Space.USER,
        session: str | None = None,
        project: str | None = None,
    ) -> dict[str, Any]:
        """Begin a new phase in a space; the token that began the last one begins none."""
        return drive(
            self._memories.start_phase(token, name=name, reason=reason, space=space, session=session, project=project)
        )

    def undo(
        self,
        *,
        source: str | None = None,
        principal: str | None = None,
        after: datetime | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Remove every record that comes from a source, a principal or a time, and all that was derived from those.

        A source is the id of a capture, a proposal, a record or a session, a tool, or anything that was named as
        evidence. Reviewers undo in the whole tenant, others among their own.
        """
        return drive(self._memories.undo(source=source, principal=principal, after=after, dry_run=dry_run))

    def list_proposals(self, *, status: str = "waiting", limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """Proposals: for reviewers those of the whole tenant, oldest first; for others their own, newest first."""
        return drive(self._memories.list_proposals(status=status, limit=limit, cursor=cursor))

    def get_proposal(self, proposal_id: str) -> dict[str, Any]:
        """A proposal, with what it rests on and what was decided."""
        return drive(self._memories.get_proposal(proposal_id))

    def review_load(self) -> dict[str, Any]:
        """How much waits, how old it is, and of what sort it is."""
        return drive(self._memories.review_load())

    def claim_proposal(self, proposal_id: str, *, seconds: float = CLAIM_SECONDS) -> dict[str, Any]:
        """Take a proposal, so that nobody else decides about it for a while; taking it again prolongs that."""
        return drive(self._memories.claim_proposal(proposal_id, seconds=seconds))

    def release_proposal(self, proposal_id: str) -> dict[str, Any]:
        """Give a proposal back that was taken."""
        return drive(self._memories.release_proposal(proposal_id))

    def approve_proposal(
        self, proposal_id: str, *, edit: Mapping[str, Any] | None = None, note: str | None = None
    ) -> dict[str, Any]:
        """Let a proposal become a record, perhaps in other words; for the durable tier it takes two people."""
        return drive(self._memories.approve_proposal(proposal_id, edit=edit, note=note))

    def reject_proposal(self, proposal_id: str, *, note: str | None = None) -> dict[str, Any]:
        """Say no to a proposal; the same is not proposed again."""
        return drive(self._memories.reject_proposal(proposal_id, note=note))

    def review_many(
        self, decision: str, proposal_ids: Sequence[str], *, note: str | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Decide about many proposals alike; with `dry_run`, say what that would do."""
        return drive(self._memories.review_many(decision, proposal_ids, note=note, dry_run=dry_run))

    def resolve_contradiction(self, event_id: str, winner: str, *, note: str | None = None) -> dict[str, Any]:
        """Settle a contradiction: `candidate` takes the place of what is known, or `existing` stays."""
        return drive(self._memories.resolve_contradiction(event_id, winner, note=note))

    def capture_consent(self, consent: Mapping[str, Any]) -> dict[str, Any]:
        """Add a consent. One that `supersedes` another stands in its place from then on; none is ever changed."""
        return drive(self._memories.capture_consent(consent))

    def revoke_consent(
        self, consent_id: str, *, evidence_refs: Sequence[str] = (), auditor_id: str | None = None
    ) -> dict[str, Any]:
        """Take a consent back: from the moment this returns, nothing that rested on it is given to anybody."""
        return drive(self._memories.revoke_consent(consent_id, evidence_refs=evidence_refs, auditor_id=auditor_id))

    def list_consents(self, subject: str) -> dict[str, Any]:
        """Every consent record of a subject, in the order in which they were added, and where each stands."""
        return drive(self._memories.list_consents(subject))

    def get_consent(self, consent_id: str) -> dict[str, Any]:
        """A consent record, and where it stands."""
        return drive(self._memories.get_consent(consent_id))

    def list_contradictions(
        self, *, status: str = "open", limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Where what was said differs from what is known: open ones, or those that were resolved and how."""
        return drive(self._memories.list_contradictions(status=status, limit=limit, cursor=cursor))

    def list_signals(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """What there is to learn from: corrections, rejections, edits, contradictions, consents taken back."""
        return drive(self._memories.list_signals(limit=limit, cursor=cursor))

    def recall(
        self,
        query: str | None = None,
        *,
        spaces: Sequence[str] | None = None,
        session: str | None = None,
        project: str | None = None,
        persona: str | None = None,
        phase: str | None = None,
        intent: str | None = None,
        classification: str | None = None,
        freshness: float | timedelta | None = None,
        kinds: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        event_types: Sequence[str] | None = None,
        ranker: str = "relevance",
        limit: int = 10,
        min_score: float | None = None,
        as_of: datetime | None = None,
        history: bool = False,
        explain: bool = False,
        include_usage: bool = False,
        wait: float | None = None,
    ) -> dict[str, Any]:
        """What is remembered that helps with a query: records with their evidence, in the order to read them.

        First come the summary and the last 10 turns of the session, then what answers the query, best first, then
        facts of profiles, oldest first and at most 20. `limit` counts what answers the query, and `min_score` is asked
        of it; the rest comes by rule. Without a query, the newest are given. With `history`, what others stand in
        place of comes last of all, at most `limit` of it. With `as_of`, the answer is the one that was given then,
        without what may not be seen now.
        """
        return drive(
            self._memories.recall(
                query,
                spaces=spaces,
                session=session,
                project=project,
                persona=persona,
                phase=phase,
                intent=intent,
                classification=classification,
                freshness=freshness,
                kinds=kinds,
                tiers=tiers,
                event_types=event_types,
                ranker=ranker,
                limit=limit,
                min_score=min_score,
                as_of=as_of,
                history=history,
                explain=explain,
                include_usage=include_usage,
                wait=wait,
            )
        )

    def context(
        self,
        query: str | None = None,
        *,
        spaces: Sequence[str] | None = None,
        session: str | None = None,
        project: str | None = None,
        persona: str | None = None,
        phase: str | None = None,
        intent: str | None = None,
        classification: str | None = None,
        freshness: float | timedelta | None = None,
        kinds: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        event_types: Sequence[str] | None = None,
        ranker: str = "relevance",
        limit: int = LIMIT,
        min_score: float | None = None,
        as_of: datetime | None = None,
        history: bool = False,
        wait: float | None = None,
        budget: int = BUDGET,
        counter: str = "chars",
        template: str | Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        form: str = "json",
    ) -> dict[str, Any]:
        """Recall, and compile what was recalled, with the state of a conversation, into a pack within a budget.

        The pack is data and never an instruction. `text` is the pack as JSON or markdown, `messages` as chat messages;
        whichever was asked for takes at most the budget. The report names all that was left out, and why. A template is
        the name of one that is shipped, or an object.
        """
        return drive(
            self._memories.context(
                query,
                spaces=spaces,
                session=session,
                project=project,
                persona=persona,
                phase=phase,
                intent=intent,
                classification=classification,
                freshness=freshness,
                kinds=kinds,
                tiers=tiers,
                event_types=event_types,
                ranker=ranker,
                limit=limit,
                min_score=min_score,
                as_of=as_of,
                history=history,
                wait=wait,
                budget=budget,
                counter=counter,
                template=template,
                state=state,
                form=form,
            )
        )

    def put_profile(
        self, name: str, settings: Mapping[str, Any], *, expected_version: int | None = None
    ) -> dict[str, Any]:
        """Set what the memory of an AI does, as a new version of its profile. Administrators do.

        Turns that were taken under an earlier version stay as they are, and replay under that one.
        """
        return drive(self._memories.put_profile(name, settings, expected_version=expected_version))

    def get_profile(self, name: str, *, version: int | None = None) -> dict[str, Any]:
        """A profile as it is now, or in an earlier version."""
        return drive(self._memories.get_profile(name, version=version))

    def list_profiles(self) -> dict[str, Any]:
        """The profiles of the tenant, by name; the one that ships is always among them."""
        return drive(self._memories.list_profiles())

    def take_turn(
        self,
        session: str,
        *,
        user: str,
        ai: str = "",
        profile: str = DEFAULT,
        tool_events: Sequence[Any] = (),
        project: str | None = None,
        state: Mapping[str, Any] | None = None,
        identity: Mapping[str, Any] | None = None,
        recall: bool = True,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Recall for what the user said, and record it with what the AI answered, under the contract of a profile.

        Who needs what is recalled before the AI answers calls `recall_turn` first, and this with `recall=False`. A
        `state` may ask for a phase (`_memory_phase_token`, `_name`, `_reason`) and for a comparison
        (`_memory_phase_diff_from`, `_to`, `_space`), and names the user (`user.id`) where the caller acts for one.
        """
        return drive(
            self._memories.take_turn(
                session,
                user=user,
                ai=ai,
                profile=profile,
                tool_events=tool_events,
                project=project,
                state=state,
                identity=identity,
                recall=recall,
                idempotency_key=idempotency_key,
            )
        )

    def recall_turn(
        self,
        session: str,
        query: str,
        *,
        profile: str = DEFAULT,
        project: str | None = None,
        state: Mapping[str, Any] | None = None,
        identity: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What is recalled for a query under the contract of a profile, before an AI answers."""
        return drive(
            self._memories.recall_turn(session, query, profile=profile, project=project, state=state, identity=identity)
        )

    def list_traces(
        self,
        *,
        type: str | None = None,
        session: str | None = None,
        record: str | None = None,
        cause: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        plain: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """What was decided about the caller's memories, newest first, each with its events in order.

        Only traces with an event of a type, of a session, about a record, of a cause (a capture's id, `turn`, `recall`
        …), or of a time are given, if that is said; `plain` gives each event as lines of `key: value`. Administrators
        see those of the whole tenant.
        """
        return drive(
            self._memories.list_traces(
                type=type,
                session=session,
                record=record,
                cause=cause,
                since=since,
                until=until,
                plain=plain,
                limit=limit,
                cursor=cursor,
            )
        )

    def get_trace(self, trace_id: str, *, plain: bool = False) -> dict[str, Any]:
        """One trace of the caller's."""
        return drive(self._memories.get_trace(trace_id, plain=plain))

    def why(self, record_id: str) -> dict[str, Any]:
        """How a record came to be and what became of it, from capture to recall, each decision with its rule."""
        return drive(self._memories.why(record_id))

    def why_not(self, text: str) -> dict[str, Any]:
        """Why something is not remembered: what was decided about it, as far as that is known, and what would be now.

        What privacy refused is kept nowhere, so of that only the last part can tell.
        """
        return drive(self._memories.why_not(text))

    def replay(self, session: str) -> dict[str, Any]:
        """Run a recorded session again, on a scratch store, and compare every hash; nothing is written.

        `equal` says whether all of them are what they were; `differences` name the event, where in it, and by which
        rule it came. Whoever acts for others names a session like ids do: `alice/chat`.
        """
        return drive(self._memories.replay(session))

    def diff_phases(
        self,
        from_phase: str,
        to_phase: str,
        *,
        space: str = Space.SESSION,
        session: str | None = None,
        project: str | None = None,
    ) -> dict[str, Any]:
        """What changed in a space from one phase to another; nothing when one of them is not known."""
        return drive(self._memories.diff_phases(from_phase, to_phase, space=space, session=session, project=project))

    def memory_metrics(self, *, since: datetime | None = None, until: datetime | None = None) -> dict[str, Any]:
        """How well memory serves: hits, cost, violations, contradictions, corrections, and the review queue.

        Of the caller's own memory, or, for administrators, of the tenant; of the last 30 days unless others are asked
        for. `looked_at` says how many rows the figures are made from, and `complete` whether those are all.
        """
        return drive(self._memories.memory_metrics(since=since, until=until))

    def recall_precision(self, labels: Sequence[Mapping[str, Any]], *, limit: int = 10) -> dict[str, Any]:
        """How good recall is on questions whose answers are known: each a `query` and the ids that are `relevant`.

        Each question is asked as the caller would ask it, of the caller's own memory.
        """
        return drive(self._memories.recall_precision(labels, limit=limit))

    def get_usage(self, namespace: Sequence[str], key: str) -> dict[str, Any]:
        """How often a memory was fetched, and when last; for administrators and auditors."""
        return drive(self._memories.get_usage(namespace, key))

    def top_usage(
        self, *, sort: str = "fetch_count", namespace_prefix: Sequence[str] = (), limit: int = 100
    ) -> dict[str, Any]:
        """What was fetched most, or with `sort="last_fetched_at"` last; for administrators and auditors."""
        return drive(self._memories.top_usage(sort=sort, namespace_prefix=namespace_prefix, limit=limit))

    def erase(self, subject: str) -> ErasureReceipt:
        """Make everything of a subject (`user:<id>`) unreadable for good, in every version, copy and backup."""
        return drive(self._memories.erase(subject))

    def finish_erasures(self, *, everything: bool = False) -> int:
        """Carry through erasures that a crash interrupted; after a restore, `everything` that was ever erased."""
        return drive(self._memories.finish_erasures(everything=everything))

    def sweep(self, *, batch: int = 100) -> Sweep:
        """Expire, evict, tombstone, purge and trim what is due, in batches, and say how much."""
        return drive(self._memories.sweep(batch=batch))

    def rotate_keys(self) -> int:
        """Wrap every data key with a new master key; values stay as they are. Returns how many keys changed."""
        return drive(self._memories.rotate_keys())

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Write a consistent copy of the data to a new file. Keys are not in it: keep those apart."""
        return drive(self._memories.backup(target, progress=progress))

    def head(self) -> str:
        """Where the log ends, as text to keep elsewhere: given to `verify` later, it proves nothing was cut off."""
        return drive(self._memories.head())

    def verify(self, *, head: str | None = None, progress: Progress | None = None) -> Verification:
        """Check that nothing was altered, removed, swapped or cut off, in the log or in what it tells of."""
        return drive(self._memories.verify(head=head, progress=progress))

    def create_token(
        self,
        user_id: str,
        *,
        client_id: str = "",
        name: str = "",
        roles: Iterable[str] = (),
        scopes: Iterable[str] | None = None,
        expires_at: datetime | None = None,
        tenant: str | None = None,
    ) -> NewToken:
        """Make an API key for a user. Its secret is in the answer and nowhere else."""
        return drive(
            self._memories.create_token(
                user_id,
                client_id=client_id,
                name=name,
                roles=roles,
                scopes=scopes,
                expires_at=expires_at,
                tenant=tenant,
            )
        )

    def list_tokens(self, *, tenant: str | None = None) -> list[Token]:
        """Every API key of the tenant, revoked and expired ones included."""
        return drive(self._memories.list_tokens(tenant=tenant))

    def revoke_token(self, token_id: str) -> Token:
        """Refuse an API key from now on, in every process."""
        return drive(self._memories.revoke_token(token_id))

    def export_page(self, cursor: str | None = None, *, limit: int = 500) -> ExportPage:
        """A page of all items with their history, in the order in which it happened."""
        return drive(self._memories.export_page(cursor, limit=limit))

    def import_progress(self, source: str) -> int:
        """Up to which entry of an export everything is here; 0 when nothing is."""
        return drive(self._memories.import_progress(source))

    def import_page(self, source: str, entries: Sequence[dict[str, Any]]) -> Imported:
        """Take over a page of an export; what is here already is skipped."""
        return drive(self._memories.import_page(source, entries))

    def show_policy(self, *, service: bool = False) -> PolicyInForce:
        """The policy in force in the tenant, or that of the service, and the versions before it."""
        return drive(self._memories.show_policy(service=service))

    def check_policy(self, modules: Mapping[str, str]) -> Report:
        """What there is to say against a bundle of Rego modules, without putting it in force."""
        return drive(self._memories.check_policy(modules))

    def push_policy(self, modules: Mapping[str, str], *, note: str = "", service: bool = False) -> PolicyInForce:
        """Put a bundle in force, once its tests pass and it denies what every policy must; else all stays as it is."""
        return drive(self._memories.push_policy(modules, note=note, service=service))

    def rollback_policy(self, number: int | None = None, *, service: bool = False) -> PolicyInForce:
        """Put an earlier version in force again: the one before, or the one named; 0 is the policy of the service."""
        return drive(self._memories.rollback_policy(number, service=service))

    def explain_policy(
        self,
        action: str,
        namespace: Sequence[str],
        key: str = "",
        *,
        user_id: str,
        client_id: str = "",
        roles: Iterable[str] = (),
        claims: Mapping[str, Any] | None = None,
        value: Mapping[str, Any] | None = None,
        filter: Mapping[str, Any] | None = None,
        modules: Mapping[str, str] | None = None,
    ) -> Explanation:
        """Why such a caller may or may not read, write or delete a memory, or what of a `search` they would see.

        With `modules`, as that bundle would decide.
        """
        return drive(
            self._memories.explain_policy(
                action,
                namespace,
                key,
                user_id=user_id,
                client_id=client_id,
                roles=roles,
                claims=claims,
                value=value,
                filter=filter,
                modules=modules,
            )
        )

    def simulate_policy(self, modules: Mapping[str, str]) -> Simulation:
        """Which of the decisions that were asked for lately a bundle would change, before it is put in force."""
        return drive(self._memories.simulate_policy(modules))

    def list_audit(
        self, *, action: str | None = None, limit: int = 50, cursor: str | None = None, service: bool = False
    ) -> AuditPage:
        """What administrators did, newest first; with `service`, what concerns the service itself."""
        return drive(self._memories.list_audit(action=action, limit=limit, cursor=cursor, service=service))

    def force_delete(self, item_id: UUID, *, justification: str) -> Written:
        """Delete a memory by the id of its live version, whoever's it is; that, and why, is written down."""
        return drive(self._memories.force_delete(item_id, justification=justification))

    def index_status(self) -> IndexStatus:
        """What is still to be indexed, and how far attributes were brought up to date with the policy."""
        return drive(self._memories.index_status())

    def trigger_index(self) -> IndexStatus:
        """Index and extract what is due now, instead of waiting for the next round."""
        return drive(self._memories.trigger_index())

    def show_settings(self) -> Tuned:
        """The settings that can be changed at run time, and which of them were."""
        return drive(self._memories.show_settings())

    def change_settings(self, settings: Mapping[str, float | None]) -> Tuned:
        """Change settings at run time, in every process; None takes a change back."""
        return drive(self._memories.change_settings(settings))

    def __enter__(self) -> MemoriesSync:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
