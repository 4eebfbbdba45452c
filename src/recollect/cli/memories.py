"""Commands about single memories: put, get, rm, archive and history; and ls, for where there are any."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import msgspec
import typer

from recollect.cli import arguments, shapes
from recollect.cli.here import Here
from recollect.cli.screen import counted, dumped, one_line, place, when
from recollect.domain.errors import NotFound
from recollect.domain.queries import Archived
from recollect.service.reading import INDEXED

Where = Annotated[str, typer.Argument(metavar="NAMESPACE", help="Like user/alice/notes; a slash within is %2F.")]
Scope = Annotated[str | None, typer.Argument(metavar="[NAMESPACE]", help="Only at or below it; everything without it.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="The name within the namespace.")]
Expected = Annotated[
    int | None, typer.Option(metavar="N", help="Refuse unless the key is at this revision; 0: absent.")
]
Idempotency = Annotated[
    str | None, typer.Option("--idempotency-key", metavar="TEXT", help="Repeating the call with it changes nothing.")
]
AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="As it was at that moment; 2h is two hours ago.")]
Why = Annotated[
    str | None, typer.Option("--why", metavar="TEXT", help="Why you read what may not be yours; it is written down.")
]
AsUser = Annotated[
    str | None, typer.Option("--as-user", metavar="USER", help="As that user would see it; for administrators.")
]
WithArchived = Annotated[Archived, typer.Option(help="What to do about archived memories.")]
_HISTORY = 1_000
_NAMESPACES = 1_000


def put(
    here: Here,
    namespace: Where,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help='A JSON object, @file, - or text: {"text": …}.')],
    text: Annotated[bool, typer.Option("--text", help="Take the value as plain text, whatever it looks like.")] = False,
    attributes: Annotated[str | None, typer.Option(metavar="JSON", help="Attributes, sealed like the value.")] = None,
    ttl: Annotated[str | None, typer.Option(metavar="TIME", help="Forget it after 30s, 10m, 2h, 7d.")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="TIME", help="Forget it at that moment.")] = None,
    index: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="What queries find of it, like text or notes[*].text.")
    ] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="Let no query find it.")] = False,
    expected_revision: Expected = None,
    idempotency_key: Idempotency = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return once queries find it.")] = False,
) -> None:
    """Remember a value under a key.

    Example: recollect put user/alice/notes tea "Alice prefers green tea" --ttl 30d
    """
    if index and no_index:
        raise arguments.usage("give --index or --no-index, not both")
    segments, given = arguments.namespace(namespace), arguments.json_object(attributes, "--attributes")
    length, moment = arguments.seconds(ttl), arguments.moment(expires_at, "--expires-at")
    if length is not None and moment is not None:
        raise arguments.usage("give --ttl or --expires-at, not both")
    remembered = arguments.value(value, plain=text)
    done = here.door(create=True).put(
        segments,
        key,
        remembered,
        attributes=given,
        ttl=length,
        expires_at=moment,
        index_fields=[] if no_index else index or None,
        expected_revision=expected_revision,
        idempotency_key=idempotency_key,
        wait=INDEXED if wait else None,
    )
    if here.is_json:
        here.screen.document(shapes.written(segments, key, done, given))
    else:
        again = " (an earlier call had done it)" if done.replayed else ""
        until = f", until {when(done.expires_at)}" if done.expires_at else ""
        found = {None: "", True: ", indexed", False: ", not indexed yet"}[done.indexed]
        here.screen.say(f"{place(segments, key)}: {done.kind}, revision {done.revision}{until}{found}{again}")


def get(
    here: Here,
    namespace: Annotated[str | None, typer.Argument(metavar="NAMESPACE", help="Like user/alice/notes.")] = None,
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="The name within the namespace.")] = None,
    by_id: Annotated[str | None, typer.Option("--id", metavar="UUID", help="A version, by its id instead.")] = None,
    as_of: AsOf = None,
    archived: WithArchived = Archived.EXCLUDE,
    usage: Annotated[bool, typer.Option("--usage", help="Say how often it was loaded before.")] = False,
    as_user: AsUser = None,
    why: Why = None,
) -> None:
    """Print the value under a key; with --json, the whole item.

    Example: recollect get user/alice/notes tea --as-of 2h
    """
    if by_id is not None:
        if namespace is not None:
            raise arguments.usage("give a namespace and a key, or --id, not both")
        version = _uuid(by_id)
        found = here.reading(why, as_user).get_by_id(version)
    elif namespace is None or key is None:
        raise arguments.usage("a namespace and a key are needed, like: get user/alice/notes tea")
    else:
        moment = arguments.moment(as_of, "--as-of", now=datetime.now(UTC))
        segments = arguments.namespace(namespace)
        door = here.reading(why, as_user)
        found = door.get(segments, key, as_of=moment, archived=archived, include_usage=usage)
    if found is None:
        raise NotFound("memory not found")
    if here.is_json:
        here.screen.document(shapes.item(found) if by_id is None else shapes.version(found))
    else:
        here.screen.say(dumped(msgspec.json.format(msgspec.json.encode(found.value), indent=2)))
        if found.usage is not None:
            here.screen.note(f"loaded {counted(found.usage['fetch_count'], 'time')} before")


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise arguments.usage(f"{text!r} is not a UUID", "--id") from None


def rm(
    here: Here,
    namespace: Annotated[str | None, typer.Argument(metavar="NAMESPACE", help="Like user/alice/notes.")] = None,
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="The name within the namespace.")] = None,
    by_id: Annotated[str | None, typer.Option("--id", metavar="UUID", help="Whoever's it is, by its id.")] = None,
    why: Annotated[str | None, typer.Option(metavar="TEXT", help="Why, with --id; it is written down.")] = None,
    expected_revision: Expected = None,
    idempotency_key: Idempotency = None,
) -> None:
    """Delete a key; deleting what is not there changes nothing.

    With --id, administrators delete a memory whoever's it is, whatever the policy says.

    Example: recollect rm user/alice/notes tea
    """
    if by_id is not None:
        if namespace is not None or expected_revision is not None or idempotency_key is not None:
            raise arguments.usage("give a namespace and a key, or --id, not both")
        _force_delete(here, _uuid(by_id), why)
        return
    if namespace is None or key is None:
        raise arguments.usage("a namespace and a key are needed, like: rm user/alice/notes tea")
    if why is not None:
        raise arguments.usage("--why goes with --id; nobody asks why you delete what is yours")
    segments = arguments.namespace(namespace)
    done = here.door().delete(segments, key, expected_revision=expected_revision, idempotency_key=idempotency_key)
    if here.is_json:
        here.screen.document(shapes.deleted(segments, key, done))
    elif done.kind is None:
        here.screen.say(f"{place(segments, key)}: there was nothing to delete")
    else:
        here.screen.say(f"{place(segments, key)}: deleted, after revision {done.revision}")


def _force_delete(here: Here, item_id: UUID, why: str | None) -> None:
    if why is None:
        raise arguments.usage("deleting by id is written down; say why with --why", "--why")
    done = here.door().force_delete(item_id, justification=why)
    if here.is_json:
        here.screen.document({"id": str(item_id), "kind": done.kind})
    else:
        here.screen.say(f"{item_id}: deleted")


def archive(
    here: Here, namespace: Where, key: Key, expected_revision: Expected = None, idempotency_key: Idempotency = None
) -> None:
    """Set a memory aside: it keeps its value, but is found only when asked for.

    Example: recollect archive user/alice/notes tea
    """
    _set_archived(here, namespace, key, expected_revision, idempotency_key, archived=True)


def unarchive(
    here: Here, namespace: Where, key: Key, expected_revision: Expected = None, idempotency_key: Idempotency = None
) -> None:
    """Bring a memory back that was set aside.

    Example: recollect unarchive user/alice/notes tea
    """
    _set_archived(here, namespace, key, expected_revision, idempotency_key, archived=False)


def _set_archived(
    here: Here, namespace: str, key: str, expected: int | None, idempotency_key: str | None, *, archived: bool
) -> None:
    segments = arguments.namespace(namespace)
    done = here.door().archive(
        segments, key, archived=archived, expected_revision=expected, idempotency_key=idempotency_key
    )
    if here.is_json:
        here.screen.document(shapes.written(segments, key, done, archived=archived))
    else:
        word = "archived" if archived else "brought back"
        here.screen.say(f"{place(segments, key)}: {word}, revision {done.revision}")


def ls(
    here: Here,
    namespace: Annotated[
        str | None, typer.Argument(metavar="[NAMESPACE]", help="Only below it; * is any one segment.")
    ] = None,
    suffix: Annotated[str | None, typer.Option(metavar="NAMESPACE", help="Only those that end so.")] = None,
    depth: Annotated[int | None, typer.Option("--max-depth", metavar="N", help="Only so many segments.")] = None,
    archived: WithArchived = Archived.EXCLUDE,
    as_user: AsUser = None,
    why: Why = None,
) -> None:
    """Show the namespaces that have memories, as a tree.

    Example: recollect ls 'user/*' --max-depth 2
    """
    prefix, ending = arguments.scope(namespace), arguments.scope(suffix)
    door = here.reading(why, as_user)

    def pages() -> Iterator[tuple[str, ...]]:
        offset = 0
        while True:
            page = door.list_namespaces(
                prefix=prefix, suffix=ending, max_depth=depth, limit=_NAMESPACES, offset=offset, archived=archived
            )
            yield from page
            offset += len(page)
            if len(page) < _NAMESPACES:
                return

    found = list(pages())
    if here.is_json:
        here.screen.document({"namespaces": found})
    elif not found:
        here.screen.note("there are no memories here")
    else:
        _show_tree(here, found)


def _show_tree(here: Here, found: list[tuple[str, ...]]) -> None:
    """Each segment once, below the one before it; those that only lead further are dimmed."""
    listed, shown = set(found), set[tuple[str, ...]]()
    for each in found:
        for depth in range(1, len(each) + 1):
            path = each[:depth]
            if path not in shown:
                shown.add(path)
                text = "  " * (depth - 1) + place(path[-1:])
                here.screen.say(text if path in listed else here.screen.styled(text, "dim"))


def history(
    here: Here,
    namespace: Where,
    key: Key,
    limit: Annotated[int, typer.Option(metavar="N", help="How many versions; at most 1,000.")] = 100,
    before_revision: Annotated[int | None, typer.Option(metavar="N", help="Only versions before it.")] = None,
    as_user: AsUser = None,
    why: Why = None,
) -> None:
    """Show every kept version of a key, newest first.

    Example: recollect history user/alice/notes tea
    """
    segments = arguments.namespace(namespace)
    door = here.reading(why, as_user)
    versions = door.history(segments, key, limit=limit, before_revision=before_revision)
    if not versions:
        raise NotFound("no version of it is kept")
    if here.is_json:
        here.screen.document({"versions": [shapes.version(each) for each in versions]})
        return
    rows = [
        (
            str(each.revision),
            when(each.updated_at),
            f"{each.end_reason} {when(each.ended_at)}" if each.ended_at else "live",
            "(gone)" if each.value is None else one_line(each.value),
        )
        for each in versions
    ]
    here.screen.table(("rev", "written", "ended", "value"), rows)
    if len(versions) == limit:
        here.screen.note(f"{counted(limit, 'version')} shown; older ones: --before-revision {versions[-1].revision}")
