"""The composition root: from settings to a store, its keys and the use-cases; the only place that knows all."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from recollect.backends.embedding import EmbeddingOptions, embedder_named, embedder_of
from recollect.backends.extraction import ExtractionOptions, extractor_of
from recollect.backends.keyring import CommandMasterKeys, Envelope, FileMasterKeys
from recollect.backends.memory import MemoryKeyStore, MemoryStore
from recollect.backends.opa import OpaEngine
from recollect.backends.policy import BuiltinEngine
from recollect.backends.rego import RegoEngine, shipped_bundle
from recollect.backends.rego.shipped import modules_in
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions, SqliteStore, check_ours
from recollect.backends.summarizing import SummarizingOptions, summarizer_of
from recollect.config import Settings
from recollect.config.settings import PGVECTOR
from recollect.domain.address import checked_tenant
from recollect.domain.callers import SYSTEM_TENANT, local_caller
from recollect.domain.commits import checked_actor
from recollect.domain.errors import (
    InvalidSetting,
    InvalidTenant,
    KeyStoreMissing,
    MasterKeyMissing,
    NotAStore,
    StoreUnavailable,
    Unsupported,
)
from recollect.domain.identity import RANDOM_BYTES, uuid7
from recollect.domain.instants import Instant
from recollect.engines import SQLITE, engine_of, shown
from recollect.ports.clock import Clock, Ids
from recollect.ports.extractor import Extractor
from recollect.ports.keys import KeyStore, MasterKeys
from recollect.ports.policy import Engine
from recollect.ports.store import Store
from recollect.ports.summarizer import Summarizer
from recollect.ports.vectors import VectorStore
from recollect.service.memories import Memories
from recollect.service.pipeline.terms import USUAL, Terms
from recollect.service.rules import Rules
from recollect.service.series import Embedders
from recollect.service.workings import Workings
from recollect.sync import MemoriesSync, drive

IN_MEMORY = ":memory:"
DATA_FILE = "recollect.db"
KEYS_FOLDER = "keys"
WRAPPED_KEYS_FILE = "wrapped.db"
MASTER_KEY_FILE = "master.key"
_QDRANT_FOLDER = "qdrant://"


def system_clock() -> Instant:
    """The present moment by this machine's clock."""
    return Instant(time.time_ns() // 1_000)


def random_ids(at: Instant) -> bytes:
    """A fresh UUIDv7."""
    return uuid7(at, os.urandom(RANDOM_BYTES))


def open(  # noqa: A001 - `recollect.open` reads like the built-in it resembles
    path: str | Path,
    *,
    tenant: str = "default",
    actor: str = "",
    settings: Settings | None = None,
    clock: Clock = system_clock,
    ids: Ids = random_ids,
) -> Opening:
    """Open the memories in a directory, which is made if need be; `":memory:"` keeps them nowhere.

    Use it as `async with recollect.open(path) as memories:` or `memories = await recollect.open(path)`.
    """
    chosen = settings or Settings()
    return Opening(lambda: _compose(path, tenant, actor, chosen, clock, ids, direct=False), chosen)


def open_sync(
    path: str | Path,
    *,
    tenant: str = "default",
    actor: str = "",
    settings: Settings | None = None,
    clock: Clock = system_clock,
    ids: Ids = random_ids,
) -> MemoriesSync:
    """The same for code without an event loop: `with recollect.open_sync(path) as memories:`.

    A read is a direct read on the caller's own thread; the object may be shared by threads.
    """
    chosen = settings or Settings()
    memories = _compose(path, tenant, actor, chosen, clock, ids, direct=True)
    try:
        drive(prepare(memories.workings, chosen))
    except BaseException:
        drive(memories.close())
        raise
    return MemoriesSync(memories)


class Opening:
    """A store about to be opened: to be awaited, or entered with `async with`."""

    def __init__(self, compose: Callable[[], Memories], settings: Settings) -> None:
        self._compose = compose
        self._settings = settings
        self._memories: Memories | None = None

    async def _opened(self) -> Memories:
        memories = await asyncio.get_running_loop().run_in_executor(None, self._compose)
        try:
            await prepare(memories.workings, self._settings)
        except BaseException:
            await memories.close()
            raise
        self._memories = memories
        return memories

    def __await__(self) -> Generator[Any, None, Memories]:
        return self._opened().__await__()

    async def __aenter__(self) -> Memories:
        return await self._opened()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._memories is not None:
            await self._memories.close()


def restore(backup: str | Path, target: str | Path, *, keys: str | Path, settings: Settings | None = None) -> None:
    """Make a new data directory from a backup and the keys of the directory that it was taken from.

    Erasures done after the backup are carried out again, so that nothing erased comes back.
    """
    if settings is not None and settings.store is not None:
        raise Unsupported("a backup is restored into a data directory; leave the setting `store` out")
    source, folder, old_keys = Path(backup), Path(target), Path(keys)
    if not source.is_file():
        raise InvalidSetting(f"there is no backup at {source}")
    if folder.exists() and any(folder.iterdir()):
        raise NotAStore(f"{folder} is not empty; restore into a new directory")
    if (old_keys / KEYS_FOLDER).is_dir():
        old_keys = old_keys / KEYS_FOLDER
    if not (old_keys / WRAPPED_KEYS_FILE).is_file():
        raise InvalidSetting(f"{keys} holds no keys; give the data directory, or its '{KEYS_FOLDER}' folder")
    make_folder(folder)
    make_folder(folder / KEYS_FOLDER)
    wrapped = SqliteKeyStore(SqliteOptions(old_keys / WRAPPED_KEYS_FILE))
    try:
        wrapped.copy_to(folder / KEYS_FOLDER / WRAPPED_KEYS_FILE)
    finally:
        wrapped.close()
    if (old_keys / MASTER_KEY_FILE).exists():
        copy_private(old_keys / MASTER_KEY_FILE, folder / KEYS_FOLDER / MASTER_KEY_FILE)
    copy_private(source, folder / DATA_FILE)
    with open_sync(folder, settings=settings) as memories:
        memories.finish_erasures(everything=True)


def compose(
    path: str | Path,
    settings: Settings,
    clock: Clock = system_clock,
    ids: Ids = random_ids,
    *,
    direct: bool = False,
) -> Workings:
    """The workings over a data directory: store, keys, policy and what they need."""
    if str(path) == IN_MEMORY:
        keyring = Envelope(MemoryKeyStore(), _Ephemeral(), clock)
        store: Store = MemoryStore(clock=clock, ids=ids, sealer=keyring, direct=direct)
    elif settings.store is not None and not settings.store.reveal().startswith(SQLITE):
        store, keyring = _open_server(Path(path), settings, settings.store.reveal(), clock, ids, direct=direct)
    else:
        store, keyring = _open_folder(Path(path), settings, clock, ids, direct=direct)
    engine = _engine(settings, clock, direct=direct)
    options = _embedding(settings)
    return Workings.over(
        store,
        keyring,
        clock=clock,
        ids=ids,
        engine=engine,
        rules=rules_of(settings),
        finder=extractor_from(settings),
        summarizer=summarizer_from(settings),
        terms=terms_of(settings),
        embedders=Embedders(embedder_of(options), lambda model: embedder_named(model, options)),
        language=settings.search_language,
        search_bytes=settings.search_memory_mb << 20,
        vectors=_vectors(settings),
        exact=settings.vectors_exact,
    )


def _vectors(settings: Settings) -> VectorStore | None:
    """Where large scopes are searched, if anywhere but in memory."""
    if settings.vectors is None:
        return None
    where = settings.vectors.reveal()
    return _in_qdrant(where, settings) if where.startswith("qdrant") else _in_pgvector(where, settings)


def _in_qdrant(where: str, settings: Settings) -> VectorStore:
    try:
        from recollect.backends.qdrant import QdrantOptions, QdrantVectors
    except ImportError:
        raise InvalidSetting("vectors: Qdrant needs its client; install recollect[qdrant]") from None
    if where.startswith(_QDRANT_FOLDER):
        return QdrantVectors(QdrantOptions(path=Path(where.removeprefix(_QDRANT_FOLDER))))
    key = "" if settings.vectors_key is None else settings.vectors_key.reveal()
    return QdrantVectors(QdrantOptions(url=where.removeprefix("qdrant+"), key=key))


def _in_pgvector(where: str, settings: Settings) -> VectorStore:
    try:
        from recollect.backends.postgres.vectors import PostgresVectors, VectorOptions
    except ImportError:
        raise InvalidSetting("vectors: PostgreSQL needs its driver; install recollect[postgres]") from None
    own = where == PGVECTOR and settings.store is not None
    url = settings.store.reveal() if own and settings.store is not None else where
    return PostgresVectors(VectorOptions(url, half=settings.vectors_half))


def _embedding(settings: Settings) -> EmbeddingOptions:
    return EmbeddingOptions(
        settings.embedder,
        settings.embedder_url,
        settings.embedder_model,
        None if settings.embedder_key is None else settings.embedder_key.reveal(),
        settings.embedder_dimension,
        settings.embedder_seconds,
        settings.embedder_batch,
        settings.embedder_threads,
        settings.model_dir,
    )


def extractor_from(settings: Settings) -> Extractor:
    """What finds statements in passages, as the settings say."""
    return extractor_of(
        ExtractionOptions(
            settings.extractor,
            settings.extractor_url,
            settings.extractor_model,
            None if settings.extractor_key is None else settings.extractor_key.reveal(),
            settings.extractor_seconds,
            settings.extractor_attempts,
            settings.extractor_tokens,
        )
    )


def summarizer_from(settings: Settings) -> Summarizer:
    """What makes summaries of conversations, as the settings say."""
    return summarizer_of(
        SummarizingOptions(
            settings.summarizer,
            settings.summarizer_url,
            settings.summarizer_model,
            None if settings.summarizer_key is None else settings.summarizer_key.reveal(),
            settings.summarizer_seconds,
            settings.summarizer_attempts,
        )
    )


def terms_of(settings: Settings) -> Terms:
    """By which rules is remembered, as the settings say."""
    keep = settings.keep_traces_seconds
    return replace(
        USUAL,
        verified_tools=frozenset(settings.verified_tools),
        keep_traces=None if keep is None else keep * 1_000_000,
    )


def rules_of(settings: Settings) -> Rules:
    """What of the settings may change while everything is open."""
    return Rules(
        settings.max_depth,
        settings.retention(),
        settings.tenant_policies,
        settings.require_justification,
        settings.sweep_seconds,
        settings.index_seconds,
        settings.index_batch,
        settings.usage_importance,
        settings.curator,
    )


def facts_of(settings: Settings) -> dict[str, Any]:
    """What of the settings policies may know."""
    return {"filterable_attributes": list(settings.filterable_attributes)}


async def prepare(workings: Workings, settings: Settings) -> None:
    """Carry through what was interrupted, and put the policies of the settings' directory in force."""
    by = local_caller("default", "service")
    await Memories(workings, by).finish_erasures()
    await workings.tuning.follow()
    if settings.policy_dir is not None:
        await follow_policies(workings, Path(settings.policy_dir))


async def follow_policies(workings: Workings, folder: Path) -> bool:
    """Put what the directory holds in force, unless that was done before; True if it was now."""
    modules = await workings.store.aside(lambda: modules_in(folder))
    return await workings.policies.follow(local_caller("default", "policy directory"), modules)


def _engine(settings: Settings, clock: Clock, *, direct: bool) -> Engine:
    facts = facts_of(settings)
    if settings.policy_engine == "builtin":
        return BuiltinEngine(settings.filterable_attributes)
    if settings.policy_engine == "opa":
        token = None if settings.opa_token is None else settings.opa_token.reveal()
        return OpaEngine(settings.opa_url or "", token=token, seconds=settings.opa_seconds, clock=clock, direct=direct)
    return RegoEngine(shipped_bundle(), clock=clock, processes=settings.policy_processes, facts=facts, direct=direct)


def _compose(
    path: str | Path, tenant: str, actor: str, settings: Settings, clock: Clock, ids: Ids, *, direct: bool
) -> Memories:
    if checked_tenant(tenant) == SYSTEM_TENANT:
        raise InvalidTenant(f"the tenant {SYSTEM_TENANT} belongs to the service itself")
    caller = local_caller(tenant, checked_actor(actor))
    return Memories(compose(path, settings, clock, ids, direct=direct), caller)


def _open_folder(folder: Path, settings: Settings, clock: Clock, ids: Ids, *, direct: bool) -> tuple[Store, Envelope]:
    data = folder / DATA_FILE if settings.store is None else Path(settings.store.reveal().removeprefix(SQLITE))
    known = data.exists()
    if known:
        check_ours(data)
        if settings.master_key_command is None and not (folder / KEYS_FOLDER / MASTER_KEY_FILE).exists():
            raise MasterKeyMissing(f"there is no master key at {folder / KEYS_FOLDER / MASTER_KEY_FILE}")
    _make_folders(folder)
    wrapped = folder / KEYS_FOLDER / WRAPPED_KEYS_FILE
    if known and not wrapped.exists():
        raise KeyStoreMissing(f"there is data in {folder}, but its wrapped keys are missing from {wrapped}")
    keys: KeyStore = SqliteKeyStore(SqliteOptions(wrapped, busy_seconds=settings.busy_seconds))
    try:
        keyring = Envelope(keys, _master_keys(folder, settings, known=known), clock)
        options = SqliteOptions(
            data, busy_seconds=settings.busy_seconds, group=settings.group_size, readers=settings.reader_threads
        )
        return SqliteStore(options, clock=clock, ids=ids, sealer=keyring, direct=direct), keyring
    except BaseException:
        keys.close()
        raise


def _open_server(
    folder: Path, settings: Settings, url: str, clock: Clock, ids: Ids, *, direct: bool
) -> tuple[Store, Envelope]:
    """Everything on a database server, but for the master key and the settings."""
    engine = engine_of(url, settings)
    _make_folders(folder)
    opened = engine.keys()
    try:
        known = bool(opened.masters())
        if not known and not opened.epoch() and engine.holds_data():
            raise KeyStoreMissing(f"there is data in {shown(url)}, but its wrapped keys are missing from there")
        keyring = Envelope(opened, _master_keys(folder, settings, known=known), clock)
        return engine.store(clock=clock, ids=ids, sealer=keyring, direct=direct), keyring
    except BaseException:
        opened.close()
        raise


def _make_folders(folder: Path) -> None:
    try:
        make_folder(folder)
        make_folder(folder / KEYS_FOLDER)
    except OSError as problem:
        raise StoreUnavailable(f"{folder} cannot be used as a data directory: {problem.strerror}") from None


def _master_keys(folder: Path, settings: Settings, *, known: bool) -> MasterKeys:
    if settings.master_key_command is not None:
        return CommandMasterKeys(settings.master_key_command, settings.previous_master_key_command)
    return FileMasterKeys(folder / KEYS_FOLDER / MASTER_KEY_FILE, create=not known)


class _Ephemeral:
    """A master key for memories that are kept nowhere."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def current(self) -> tuple[str, bytes]:
        """The only one."""
        return "ephemeral", self._key

    def named(self, name: str) -> bytes | None:
        """The only one, by its name."""
        return self._key if name == "ephemeral" else None


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can look into."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def copy_private(source: Path, target: Path) -> None:
    """Copy a file so that only its owner can read the copy; there must be none yet."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as written, source.open("rb") as read:
        shutil.copyfileobj(read, written)
        written.flush()
        os.fsync(written.fileno())


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, wholly or not at all."""
    written = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    handle = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)
