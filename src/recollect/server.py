"""The service: a data directory behind an address, with its workers, composed and run until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import json
import logging
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
import uvloop

from recollect.backends.jwt import JwtOptions, JwtVerifier, jwt_verifier
from recollect.config import Settings
from recollect.config.sources import FILE, Loaded, Watch, changed, load
from recollect.domain.callers import FIRST_USER, Role, local_caller
from recollect.domain.errors import InvalidInput, InvalidSetting, RecollectError
from recollect.main import compose, facts_of, follow_policies, prepare, rules_of, write_private
from recollect.ports.clock import Clock
from recollect.service.conversation.curator import Curator
from recollect.service.identity import Identity
from recollect.service.memories import Memories
from recollect.service.tokens import new_secret
from recollect.service.workings import Workings
from recollect.surfaces.logs import configure, event, set_level
from recollect.surfaces.mcp.http import McpDoor
from recollect.surfaces.metrics import Metrics
from recollect.surfaces.rest.app import make_app
from recollect.surfaces.rest.connections import BoundedConnection
from recollect.surfaces.service import Service
from recollect.surfaces.telemetry import Telemetry
from recollect.workers.chronicler import Chronicler
from recollect.workers.counter import Counter
from recollect.workers.indexer import Indexer
from recollect.workers.rememberer import Rememberer
from recollect.workers.rounds import Rounds
from recollect.workers.sweeper import Sweeper

if TYPE_CHECKING:
    from recollect.surfaces.grpc.server import GrpcDoor

log = logging.getLogger("recollect.server")
CREDENTIALS_FILE = "credentials.json"
SERVER_FILE = "server.json"
PORTS_TRIED = 50
_WATCH_SECONDS = 1.0
_FOLLOW_SECONDS = 0.4
"""How often it is looked whether settings or policies changed, so that all processes follow within a second."""
_COUNT_SECONDS = 60.0
"""So often loads are written down, and what waits for people is counted."""
_INDEX_SECONDS = 2.0
"""How soon a change of policy, or a write of another process, is noticed by the worker that extracts and indexes."""
_BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class Started:
    """What there is to say once the service is ready."""

    url: str
    home: Path
    wanted_port: int
    port: int
    admin_key: str | None
    """The key that the first start made; shown once."""
    grpc: str | None = None
    """Where the gRPC door is, as `host:port`, if there is one."""


def serve(
    home: Path,
    *,
    flags: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    announce: Callable[[Started], None] | None = None,
) -> None:
    """Serve a data directory until SIGTERM or SIGINT; `announce` is called once it is ready."""
    reload = Reload(home, flags or {}, os.environ if environment is None else environment)
    settings = reload.loaded.settings
    check_binding(settings)
    configure(settings.log_level, settings.log_format)
    listening = bind(settings)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(home, reload, listening, announce))
    finally:
        listening.close()


def check_binding(settings: Settings) -> None:
    """Refuse to listen beyond this machine in plain text, unless it was asked for by name."""
    if is_loopback(settings.host) or settings.tls_certificate is not None or settings.allow_plain_http:
        return
    raise InvalidSetting(
        f"{settings.host} can be reached from other machines, and keys would travel in plain text: "
        "give tls_certificate and tls_key, or set allow_plain_http if something in front does the encryption"
    )


def is_loopback(host: str) -> bool:
    """True when only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(settings: Settings) -> socket.socket:
    """A socket on the wanted port, or on the next free one."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    last = min(settings.port + PORTS_TRIED, 65_536) if settings.port else 1
    for port in range(settings.port, last):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((settings.host, port))
            listening.listen(_BACKLOG)
        except OSError as problem:
            listening.close()
            if problem.errno == errno.EADDRINUSE:
                continue
            raise InvalidSetting(f"cannot listen on {settings.host}:{port}: {problem.strerror}") from None
        return listening
    raise InvalidSetting(f"the ports {settings.port} to {last - 1} are all taken; choose another with --port")


class Reload:
    """Settings as they are now, and how they follow their file."""

    def __init__(self, home: Path, flags: Mapping[str, object], environment: Mapping[str, str]) -> None:
        self._home = home
        self._flags = flags
        self._environment = environment
        self._watch = Watch(home / FILE)
        self._asked = False
        self.loaded: Loaded = load(home, environment=environment, flags=flags)

    def ask(self) -> None:
        """Read the settings again soon, whether or not their file changed."""
        self._asked = True

    def due(self) -> bool:
        """True when the file changed, or somebody asked."""
        asked, self._asked = self._asked, False
        return self._watch.poll() or asked

    def again(self) -> Settings | None:
        """The settings, with what may change at once read anew; None, and a line in the log, if they cannot be used."""
        try:
            loaded = load(self._home, environment=self._environment, flags=self._flags)
        except InvalidSetting as problem:
            event(log, logging.ERROR, "settings.refused", reason=problem.message)
            return None
        live, restart = changed(self.loaded.settings, loaded.settings)
        if restart:
            event(log, logging.WARNING, "settings.need_restart", settings=",".join(restart))
        if live:
            event(log, logging.INFO, "settings.changed", settings=",".join(live))
        fresh = {name: getattr(loaded.settings, name) for name in live}
        self.loaded = replace(loaded, settings=replace(self.loaded.settings, **fresh))
        return self.loaded.settings


class _Server(uvicorn.Server):
    """Uvicorn, which leaves signals to us, and tells waiting answers to end before it waits for them."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are dealt with by the one who runs the server."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let requests under way finish, then return."""
        self._service.closing.set()
        await super().shutdown(sockets)


async def _run(
    home: Path, reload: Reload, listening: socket.socket, announce: Callable[[Started], None] | None
) -> None:
    settings = reload.loaded.settings
    loop = asyncio.get_running_loop()
    workings = await loop.run_in_executor(None, lambda: compose(home, settings))
    memories = Memories(workings, local_caller("default", "service"))
    verifier: JwtVerifier | None = None
    try:
        await prepare(workings, settings)
        warming = asyncio.create_task(workings.policies.warm_up())
        admin_key = await _first_start(home, workings)
        verifier = _verifier(settings, workings.clock)
        identity = Identity(workings.tokens, verifier)
        metrics = Metrics()
        metrics.follow_policy(workings.policies.counts)
        workings.figures.follow(metrics)
        service = Service(memories, workings.store, workings.guard, identity, settings, metrics, Telemetry(), home)
        server = _Server(_uvicorn(service, settings), service)
        calls = await _grpc_door(service, settings)
        workers = _workers(workings, service)
        watching = [
            asyncio.create_task(_follow_settings(reload, service, workings)),
            asyncio.create_task(_follow_tuning(workings)),
        ]
        if settings.policy_dir is not None:
            watching.append(asyncio.create_task(_follow_directory(workings, Path(settings.policy_dir))))
        working = [asyncio.create_task(worker.run()) for worker in workers]
        _handle_signals(loop, server, reload)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            started = await _started(server, serving, listening, settings, home, admin_key)
            if calls is not None:
                started = replace(started, grpc=f"{_reached_at(settings.host)}:{calls.port}")
            watching.append(asyncio.create_task(_be_found(started)))
            await warming
            await asyncio.sleep(0)  # so that the note is there before anybody hears of the service
            if announce is not None:
                announce(started)
            told = {} if started.grpc is None else {"grpc": started.grpc}
            event(log, logging.INFO, "server.ready", url=started.url, home=str(home), pid=os.getpid(), **told)
            await serving
        finally:
            if calls is not None:
                await calls.stop(0.0 if server.force_exit else settings.shutdown_seconds)
            for worker in workers:
                worker.stop()
            for task in watching:
                task.cancel()
            await asyncio.gather(*working, *watching, return_exceptions=True)
            _forget_server(home)
    finally:
        await memories.close()
        if verifier is not None:
            await verifier.close()
    event(log, logging.INFO, "server.stopped")


def _verifier(settings: Settings, clock: Clock) -> JwtVerifier | None:
    return jwt_verifier(
        JwtOptions(
            issuer=settings.jwt_issuer,
            audience=settings.jwt_audience,
            key=None if settings.jwt_key is None else settings.jwt_key.reveal(),
            key_file=None if settings.jwt_key_file is None else Path(settings.jwt_key_file),
            jwks_url=settings.jwks_url,
            jwks_file=None if settings.jwks_file is None else Path(settings.jwks_file),
            algorithms=settings.jwt_algorithms,
            tenant_claim=settings.jwt_tenant_claim,
            leeway_seconds=settings.jwt_leeway_seconds,
        ),
        clock,
    )


def _uvicorn(service: Service, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(service, [McpDoor(service.memories.workings.clock)]),
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=settings.max_connections * 2,
        backlog=_BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(settings.shutdown_seconds),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )


def _workers(workings: Workings, service: Service) -> tuple[Rounds, ...]:
    rules, holder = workings.rules, f"{os.getpid()}-{secrets.token_hex(4)}"
    sweeper = Sweeper(
        workings.store,
        rules,
        workings.indexing,
        holder=holder,
        seconds=lambda: rules.sweep_seconds,
        report=service.metrics.swept,
    )
    indexer = Indexer(
        workings.store,
        workings.extractor,
        workings.indexing,
        workings.searching,
        workings.decisions,
        holder=holder,
        seconds=lambda: min(rules.index_seconds, _INDEX_SECONDS),
    )
    workings.indexing.inline = False
    workings.indexing.on_stir(indexer.wake)
    rememberer = Rememberer(
        workings.store,
        workings.remembering,
        holder=holder,
        seconds=lambda: min(rules.index_seconds, _INDEX_SECONDS),
    )
    workings.remembering.wake = rememberer.wake
    counter = Counter(
        workings.store,
        workings.usage,
        workings.clock,
        holder=holder,
        seconds=lambda: _COUNT_SECONDS,
        report=service.metrics.queued,
    )
    chronicler = Chronicler(
        workings.store,
        workings.summarizing,
        Curator(workings),
        holder=holder,
        seconds=lambda: min(rules.index_seconds, _INDEX_SECONDS),
    )
    workings.summarizing.inline = False
    workings.summarizing.wake = chronicler.wake
    return sweeper, indexer, rememberer, counter, chronicler


def _handle_signals(loop: asyncio.AbstractEventLoop, server: _Server, reload: Reload) -> None:
    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop)
    loop.add_signal_handler(signal.SIGHUP, reload.ask)


async def _follow_settings(reload: Reload, service: Service, workings: Workings) -> None:
    """Apply what can change while the service runs, whenever the file changed or SIGHUP came."""
    while True:
        await asyncio.sleep(_FOLLOW_SECONDS)
        settings = reload.again() if reload.due() else None
        if settings is None:
            continue
        try:
            service.apply(settings)
            set_level(settings.log_level)
            await workings.tuning.follow(rules_of(settings))
            await workings.policies.configure(facts_of(settings))
        except RecollectError as problem:
            reload.ask()  # the store may be away for a moment
            event(log, logging.WARNING, "settings.not_followed", code=problem.code)


async def _follow_tuning(workings: Workings) -> None:
    """Follow what operators change at run time, in whichever process they do it."""
    seen: object = None
    while True:
        await asyncio.sleep(_FOLLOW_SECONDS)
        stamp = workings.store.stamp()
        if stamp == seen:
            continue
        try:
            await workings.tuning.follow()
            seen = stamp
        except RecollectError as problem:
            event(log, logging.WARNING, "tuning.failed", code=problem.code)


async def _follow_directory(workings: Workings, folder: Path) -> None:
    """Put what the directory of policies holds in force, whenever it changed; what is refused changes nothing."""
    seen: object = None  # it may have changed since it was first followed
    while True:
        await asyncio.sleep(_FOLLOW_SECONDS)
        found = _look_into(folder)
        if found == seen:
            continue
        try:
            if await follow_policies(workings, folder):
                event(log, logging.INFO, "policy.followed", folder=str(folder))
            seen = found
        except InvalidInput as problem:
            seen = found
            event(log, logging.ERROR, "policy.refused", folder=str(folder), reason=problem.message)
        except RecollectError as problem:
            event(log, logging.ERROR, "policy.not_followed", folder=str(folder), reason=problem.message)


def _look_into(folder: Path) -> frozenset[tuple[str, int, int]]:
    """What tells that something in a directory changed."""
    found = set()
    for path in folder.rglob("*.rego"):
        with contextlib.suppress(OSError):
            stat = path.stat()
            found.add((str(path), stat.st_mtime_ns, stat.st_size))
    return frozenset(found)


async def _first_start(home: Path, workings: Workings) -> str | None:
    """Make the administrator's key if there is no key at all, by one process alone; None when there was one."""
    holder = secrets.token_hex(8)
    for _ in range(400):
        if await workings.tokens.any():
            return None
        lease = await workings.store.acquire("first-start", holder, 5.0)
        if lease is not None:
            break
        await asyncio.sleep(0.05)
    else:
        raise RecollectError("another process is making the first key and does not come to an end; start again")
    try:
        if await workings.tokens.any():
            return None
        token_id, secret = new_secret()
        # Kept before it is made: a crash in between leaves a note that opens nothing, not a lock without a key.
        write_private(home / CREDENTIALS_FILE, json.dumps({"token": secret}, indent=1) + "\n")
        roles = (Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
        by = local_caller("default", "service")
        await workings.tokens.create(by, FIRST_USER, name="first key", roles=roles, fresh=(token_id, secret))
        return secret
    finally:
        await workings.store.release(lease)


async def _started(
    server: _Server,
    serving: asyncio.Task[None],
    listening: socket.socket,
    settings: Settings,
    home: Path,
    admin_key: str | None,
) -> Started:
    while not server.started:
        if serving.done():
            serving.result()
            raise RecollectError("the server ended before it had begun")
        await asyncio.sleep(0.005)
    port = listening.getsockname()[1]
    scheme = "http" if settings.tls_certificate is None else "https"
    url = f"{scheme}://{_reached_at(settings.host)}:{port}"
    return Started(url, home, settings.port, port, admin_key)


def _reached_at(host: str) -> str:
    """The address by which this machine reaches what listens on it."""
    shown = f"[{host}]" if ":" in host else host
    return {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(shown, shown)  # noqa: S104 - compared, not bound


async def _grpc_door(service: Service, settings: Settings) -> GrpcDoor | None:
    """The gRPC door, listening, if the settings ask for it."""
    if settings.grpc_port is None:
        return None
    try:
        from recollect.surfaces.grpc.server import GrpcDoor
    except ImportError:
        raise InvalidSetting("grpc_port: the gRPC door needs its library; install recollect[grpc]") from None
    last = min(settings.grpc_port + PORTS_TRIED, 65_536) if settings.grpc_port else 1
    door = await GrpcDoor.opened(service, range(settings.grpc_port, last))
    if door is None:
        raise InvalidSetting(f"grpc_port: no port from {settings.grpc_port} to {last - 1} can be listened on")
    return door


async def _be_found(started: Started) -> None:
    """Leave a note of where the service is; and again whenever a later one has taken its own away."""
    path = started.home / SERVER_FILE
    note = {"pid": os.getpid(), "url": started.url, "started_at": datetime.now(UTC).isoformat(), "grpc": started.grpc}
    text = json.dumps(note, indent=1) + "\n"
    write_private(path, text)
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        if not path.exists():
            write_private(path, text)


def _forget_server(home: Path) -> None:
    """Take back the note of where the service is, unless a later one has left its own."""
    path = home / SERVER_FILE
    try:
        note: dict[str, Any] = json.loads(path.read_text())
        if note.get("pid") == os.getpid():
            path.unlink()
    except (OSError, ValueError):
        return
