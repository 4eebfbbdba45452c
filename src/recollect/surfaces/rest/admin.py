"""The administrator's part of the REST door."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.wire import answers
from recollect.wire.requests import (
    EraseBody,
    ImportBody,
    Nothing,
    SweepBody,
    TokenBody,
    VerifyBody,
    entry_of,
    moment,
)

_CHUNK = 1 << 20


async def get_head(ask: Exchange) -> Answer:
    """Where the log ends, to be kept elsewhere."""
    ask.no_parameters()
    return answer({"head": await ask.use.head()})


async def verify(ask: Exchange) -> Answer:
    """Check that nothing was tampered with."""
    ask.no_parameters()
    body = ask.parsed(VerifyBody) if ask.body else VerifyBody()
    return answer(answers.verification(await ask.use.verify(head=body.head)))


async def erase(ask: Exchange) -> Answer:
    """Make everything of a subject unreadable for good."""
    ask.no_parameters()
    return answer(answers.receipt(await ask.use.erase(ask.parsed(EraseBody).subject)))


async def sweep(ask: Exchange) -> Answer:
    """Sweep away what is due, now."""
    ask.no_parameters()
    body = ask.parsed(SweepBody) if ask.body else SweepBody()
    return answer(await ask.use.sweep(batch=body.batch))


async def rotate_keys(ask: Exchange) -> Answer:
    """Wrap every data key with a new master key."""
    ask.no_parameters()
    if ask.body:
        ask.parsed(Nothing)
    return answer({"rotated": await ask.use.rotate_keys()})


async def backup(ask: Exchange) -> Answer:
    """A consistent copy of the data, as a file."""
    ask.no_parameters()
    copy = _Copy(Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="backup-", dir=ask.service.scratch)))
    try:
        await ask.use.backup(copy.file)
    except BaseException:
        await copy.aclose()
        raise
    disposition = (b"content-disposition", b'attachment; filename="recollect-backup.db"')
    return Answer(200, media=b"application/octet-stream", headers=(disposition,), pieces=copy)


class _Copy:
    """A copy in a folder of its own, read piece by piece; closing it removes the folder, whether or not it was read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "backup.db"
        self._read: BinaryIO | None = None

    def __aiter__(self) -> _Copy:
        return self

    async def __anext__(self) -> bytes:
        if self._read is None:
            self._read = await asyncio.to_thread(self.file.open, "rb")
        piece = await asyncio.to_thread(self._read.read, _CHUNK)
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """Let go of the file, and of the folder."""
        if self._read is not None:
            self._read.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


async def export_page(ask: Exchange) -> Answer:
    """A page of all items with their history."""
    query = ask.query
    cursor, limit = query.one("cursor"), query.whole("limit", 500)
    query.done()
    return answer(answers.exported(await ask.use.export_page(cursor, limit=limit or 0)))


async def import_progress(ask: Exchange) -> Answer:
    """How far an import got."""
    query = ask.query
    source = query.required("source")
    query.done()
    return answer({"source": source, "sequence": await ask.use.import_progress(source)})


async def import_page(ask: Exchange) -> Answer:
    """Take over a page of an export."""
    ask.no_parameters()
    body = ask.parsed(ImportBody)
    done = await ask.use.import_page(body.source, [entry_of(entry) for entry in body.entries])
    return answer(answers.imported(done))


async def list_tokens(ask: Exchange) -> Answer:
    """Every API key of a tenant."""
    query = ask.query
    tenant = query.one("tenant")
    query.done()
    return answer({"tokens": [answers.token(each) for each in await ask.use.list_tokens(tenant=tenant)]})


async def create_token(ask: Exchange) -> Answer:
    """Make an API key."""
    ask.no_parameters()
    body = ask.parsed(TokenBody)
    made = await ask.use.create_token(
        body.user_id,
        client_id=body.client_id,
        name=body.name,
        roles=body.roles,
        scopes=body.scopes,
        expires_at=moment(body.expires_at, "expires_at"),
        tenant=body.tenant,
    )
    return answer(answers.new_token(made), 201)


async def revoke_token(ask: Exchange) -> Answer:
    """Refuse an API key from now on."""
    ask.no_parameters()
    return answer(answers.token(await ask.use.revoke_token(ask.part)))
