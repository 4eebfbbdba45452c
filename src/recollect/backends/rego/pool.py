"""The pool: processes that evaluate, each watched by a thread, killed when they overrun and started anew."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import select
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from time import clock_gettime, monotonic
from typing import Any

import msgspec

from recollect.domain.errors import PolicyTrouble
from recollect.ports.policy import Overrun

log = logging.getLogger("recollect.policy")
PROGRAM = Path(__file__).with_name("sandboxed.py")
EVALUATION_SECONDS = 0.05
"""How long one evaluation may compute; longer for large inputs, by `SECONDS_PER_BYTE`."""
SECONDS_PER_BYTE = 2e-6
TRIAL_SECONDS = 1.0
"""How long one test of a bundle may compute: it may ask many things, and nobody's decision waits for it."""
PATIENCE_SECONDS = 5.0
"""How long one evaluation may take, when a busy machine lets it compute only now and then."""
MEMORY_BYTES = 256 << 20
"""How much memory one request may come to take up; a process that has more than that is replaced after its answer."""
MOST_ANSWER_BYTES = 16 << 20
LOAD_SECONDS = 10.0
START_SECONDS = 10.0
SPARE_SECONDS = 5.0
"""How long a process is kept that nobody needs."""
MOST_WAITING = 10_000
MOST_COMPILING = 100


@dataclass(frozen=True, slots=True)
class Loadable:
    """A compiled bundle's makings: what a process must be given before it can be asked."""

    id: str
    modules: Mapping[str, str]
    data: Mapping[str, Any]
    entries: tuple[str, ...]

    def message(self, save: str | None = None) -> dict[str, Any]:
        """The request that loads it."""
        said = {"op": "load", "id": self.id, "modules": self.modules, "data": self.data, "entries": self.entries}
        return said if save is None else {**said, "save": save}


@dataclass(slots=True)
class _Asking:
    bundle: Loadable
    entries: tuple[str, ...]
    input: bytes
    answer: Future[Any] = field(default_factory=Future)


@dataclass(slots=True)
class _Trying:
    bundle: Loadable
    entry: str
    answer: Future[Any] = field(default_factory=Future)


@dataclass(slots=True)
class _Loading:
    bundle: Loadable
    save: str
    answer: Future[Any] = field(default_factory=Future)


_Job = _Asking | _Trying | _Loading


class Process:
    """One process that evaluates. Not shared by threads."""

    def __init__(self) -> None:
        found = find_spec("regopy")
        if found is None or found.origin is None:
            raise PolicyTrouble("the Rego engine is not installed: install `regopy`")
        where = Path(found.origin).parent.parent
        self._process = subprocess.Popen(  # noqa: S603 - our own program, by our own interpreter
            [sys.executable, "-I", "-S", str(PROGRAM), str(where)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            close_fds=True,
            start_new_session=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("both are pipes")
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)
        self._ready = select.poll()
        self._ready.register(self._out, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(self._in, select.POLLOUT)
        self._memory = _open_memory(self.pid)
        self.loaded: set[str] = set()
        self.fresh = True

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    def request(self, message: bytes, seconds: float) -> dict[str, Any]:
        """The answer, or `Overrun` when it does not come in time; the process is then of no more use."""
        if self.fresh:  # the first answer waits for the program to start
            seconds, self.fresh = seconds + START_SECONDS, False
        self._began, self._seconds = monotonic(), seconds
        self._cpu, self._resident = _cpu_seconds(self.pid), self.resident
        self._write(struct.pack(">I", len(message)) + message)
        size = struct.unpack(">I", self._read(4))[0]
        if size > MOST_ANSWER_BYTES:
            raise Overrun("the policy gave too long an answer")
        answer = msgspec.json.decode(self._read(size))
        if not isinstance(answer, dict):
            raise PolicyTrouble("the policy engine gave no answer")
        self._watch_memory()
        return answer

    @property
    def used(self) -> float:
        """How long it has computed since it was last asked."""
        return _cpu_seconds(self.pid) - self._cpu

    @property
    def resident(self) -> int:
        """How much memory it takes up; the engine reserves far more address space than it uses."""
        if self._memory is None:
            return 0
        try:
            return int(os.pread(self._memory, 128, 0).split()[1]) * _PAGE
        except (OSError, IndexError):
            return 0  # it is gone

    @property
    def worn(self) -> bool:
        """Whether it has so much that it is better replaced; that is nobody's fault."""
        return self.resident > MEMORY_BYTES

    def _watch_memory(self) -> None:
        if self.resident - self._resident > MEMORY_BYTES:
            raise Overrun("the policy took too much memory")

    def load(self, bundle: Loadable, save: str | None = None) -> dict[str, Any]:
        """Have it compile a bundle."""
        answer = self.request(msgspec.json.encode(bundle.message(save)), LOAD_SECONDS)
        self.loaded = set(answer.get("loaded", ()))
        return answer

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(OSError):
            self._process.communicate(timeout=5)
        if self._memory is not None:
            os.close(self._memory)
            self._memory = None

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._writable)
            try:
                view = view[os.write(self._in, view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Overrun("the policy engine ended") from None

    def _read(self, size: int) -> bytes:
        pieces: list[bytes] = []
        while size:
            self._wait(self._ready)
            piece = os.read(self._out, min(size, 1 << 20))
            if not piece:
                raise Overrun("the policy engine ended")
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _wait(self, what: select.poll) -> None:
        """Until it is ready; no longer than it may compute, and a while longer if it was not let to."""
        left = min(self._seconds - (monotonic() - self._began), EVALUATION_SECONDS)
        while not what.poll(max(0.0, left) * 1_000):
            used = self.used
            if used >= self._seconds or monotonic() - self._began >= self._seconds + PATIENCE_SECONDS:
                raise Overrun("the policy took too long")
            self._watch_memory()
            left = min(max(self._seconds - used, 0.002), 0.02)


def _cpu_seconds(pid: int) -> float:
    """How long a process has computed so far; where that is not told, as long as it has been there."""
    if sys.platform != "linux":
        return monotonic()
    try:
        return clock_gettime(~pid << 3 | _PROCESS_CLOCK)
    except OSError:
        return monotonic()


def _open_memory(pid: int) -> int | None:
    """Where a process's memory is told; its own `ru_maxrss` would count what its parent had before `exec`."""
    try:
        return os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROCESS_CLOCK = 2
"""How Linux names the clock of another process: by its id, and this (see clock_getcpuclockid(3))."""


class Pool:
    """Processes that evaluate for everybody who asks, started when first needed."""

    def __init__(self, processes: int = 1) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._apart: SimpleQueue[_Job | None] = SimpleQueue()
        self._count = processes
        self._threads: list[threading.Thread] = []
        self._compiler: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self.evaluated = 0
        self.restarts = 0
        self.pids: set[int] = set()

    def ask(self, bundle: Loadable, entries: tuple[str, ...], told: bytes) -> Future[list[list[Any]]]:
        """What these rules of a bundle say of an input, each as a list with a value or none."""
        return self._put(_Asking(bundle, entries, told))

    def load(self, bundle: Loadable, save: str, *, apart: bool = False) -> Future[dict[str, Any]]:
        """Compile a bundle and save its plan in a folder; the answer says what is wrong with it, if anything.

        A stranger's is compiled `apart`, in a process of its own, so that decisions do not wait for it.
        """
        job = _Loading(bundle, save)
        return self._put_apart(job) if apart else self._put(job)

    def trial(self, bundle: Loadable, entry: str) -> Future[tuple[list[Any], float]]:
        """What a test says, and how long it computed; in the process apart, so that decisions do not wait for it."""
        return self._put_apart(_Trying(bundle, entry))

    def _put_apart(self, job: _Job) -> Future[Any]:
        self._refuse()
        with self._lock:
            if self._compiler is None and not self._closed:
                self._compiler = threading.Thread(
                    target=self._work, args=(self._apart,), name="recollect-compiler", daemon=True
                )
                self._compiler.start()
        self._apart.put(job)
        return job.answer

    def _put(self, job: _Job) -> Future[Any]:
        self._refuse()
        if len(self._threads) < self._count:
            self._grow()
        self._jobs.put(job)
        return job.answer

    def _refuse(self) -> None:
        if self._closed:
            raise PolicyTrouble("the policy engine was closed")
        if self._jobs.qsize() > MOST_WAITING or self._apart.qsize() > MOST_COMPILING:
            raise PolicyTrouble("too many decisions wait for the policy engine")

    def _grow(self) -> None:
        with self._lock:
            if len(self._threads) < self._count and not self._closed:
                thread = threading.Thread(target=self._work, args=(self._jobs,), name="recollect-policy", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _work(self, jobs: SimpleQueue[_Job | None]) -> None:
        process: Process | None = None
        while True:
            try:
                job = jobs.get(timeout=SPARE_SECONDS if jobs is self._apart and process is not None else None)
            except Empty:
                self._end(process)
                process = None
                continue
            if job is None:
                break
            if not job.answer.set_running_or_notify_cancel():
                continue
            try:
                process = process or self._start()
                self.evaluated += not isinstance(job, _Loading)
                job.answer.set_result(_done(process, job))
                if process.worn:
                    self._end(process)
                    process = None
            except BaseException as problem:  # noqa: BLE001 - it belongs to the one who asked
                if process is not None and not isinstance(problem, Unloadable | Faulted):
                    self._end(process)
                    process = None
                    self.restarts += 1
                job.answer.set_exception(problem if isinstance(problem, PolicyTrouble) else _fault(problem))
        if process is not None:
            self.pids.discard(process.pid)
            _spare.keep(process)

    def _start(self) -> Process:
        process = _spare.take() or Process()
        self.pids.add(process.pid)
        return process

    def _end(self, process: Process | None) -> None:
        if process is not None:
            process.end()
            self.pids.discard(process.pid)

    def close(self) -> None:
        """End all processes and wait for them."""
        with self._lock:
            self._closed = True
            threads = tuple(self._threads)
        for _ in threads:
            self._jobs.put(None)
        if self._compiler is not None:
            self._apart.put(None)
            threads += (self._compiler,)
        for thread in threads:
            thread.join(LOAD_SECONDS)


class _Spare:
    """A process that nobody needs at the moment, kept for a while: the next one who opens something need not wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._owner = 0
        self._timer: threading.Timer | None = None

    def keep(self, process: Process) -> None:
        """Keep it, unless there is one already."""
        with self._lock:
            if self._process is None or self._owner != os.getpid():
                self._process, self._owner = process, os.getpid()
                self._timer = threading.Timer(SPARE_SECONDS, self.end)
                self._timer.daemon = True
                self._timer.start()
                return
        process.end()

    def take(self) -> Process | None:
        """The one that is kept, if it is still good; never one of the process that this one was forked from."""
        with self._lock:
            process, self._process = self._process, None
            if self._timer is not None:
                self._timer.cancel()
        if process is None or self._owner != os.getpid():
            return None
        if process.alive:
            return process
        process.end()
        return None

    def end(self) -> None:
        """End the one that is kept."""
        if (process := self.take()) is not None:
            process.end()


_spare = _Spare()
atexit.register(_spare.end)


class Unloadable(PolicyTrouble):
    """The policy cannot be compiled, so nothing was allowed: correct the policy."""


class Faulted(PolicyTrouble):
    """The policy gave no usable answer, so nothing was allowed: ask what a value is before giving it to a built-in."""


def _done(process: Process, job: _Job) -> Any:
    if isinstance(job, _Loading):
        return process.load(job.bundle, job.save)
    if isinstance(job, _Trying):
        found = _evaluate(process, job.bundle, (job.entry,), b"{}", TRIAL_SECONDS)
        return found[0], process.used
    return _evaluate(process, job.bundle, job.entries, job.input, EVALUATION_SECONDS)


def _evaluate(
    process: Process, bundle: Loadable, entries: tuple[str, ...], told: bytes, seconds: float
) -> list[list[Any]]:
    if bundle.id not in process.loaded:
        answer = process.load(bundle)
        if "loaded" not in answer:
            log.error("policy.load", extra={"fields": {"bundle": bundle.id, "answer": str(answer)[:500]}})
            raise Unloadable("the policy cannot be loaded")
    head = msgspec.json.encode({"op": "ask", "id": bundle.id, "entries": entries})
    message = head[:-1] + b',"input":' + told + b"}"
    answer = process.request(message, seconds + len(message) * SECONDS_PER_BYTE)
    results = answer.get("results")
    if isinstance(results, list) and len(results) == len(entries):
        return results
    log.error("policy.fault", extra={"fields": {"bundle": bundle.id, "fault": str(answer.get("fault"))[:500]}})
    raise Faulted("the policy gave no answer")


def _fault(problem: BaseException) -> PolicyTrouble:
    log.error("policy.fault", exc_info=problem)
    return PolicyTrouble("the policy could not be asked")
