"""The process that evaluates has nothing but its input, ends when it should, and never leaves anybody waiting."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.sizes import sized

from recollect.backends.rego import RegoEngine, pool
from recollect.backends.rego.engine import RegoPolicy
from recollect.backends.rego.pool import EVALUATION_SECONDS, MEMORY_BYTES, PROGRAM, Loadable, Pool, Process
from recollect.backends.rego.sandboxed import CPU_SECONDS, MOST_BUNDLES
from recollect.backends.rego.shipped import shipped_bundle
from recollect.domain.callers import Action, Caller, Scope
from recollect.domain.errors import PolicyTrouble
from recollect.ports.policy import Decision, Overrun
from recollect.testing.doubles import ManualClock

found = find_spec("regopy")
assert found is not None
assert found.origin is not None
SITE = str(Path(found.origin).parent.parent)
ENTRY = ("p/x",)
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this of a process")


def loadable(text: str, name: str = "one") -> Loadable:
    return Loadable(name, {"p.rego": f"package p\n\nimport rego.v1\n\n{text}\n"}, {}, ENTRY)


ECHO = loadable("x := input.v")
_MANY = ", ".join(map(str, range(400)))
ENDLESS = loadable(
    f"x if {{\n\txs := [{_MANY}]\n"
    "\tcount([1 | some a in xs; some b in xs; some c in xs; some d in xs; a != b; c != d]) == 0\n}",
    "endless",
)


def message(bundle: Loadable, told: object, entries: tuple[str, ...] = ENTRY) -> bytes:
    return json.dumps({"op": "ask", "id": bundle.id, "entries": entries, "input": told}, ensure_ascii=False).encode()


@pytest.fixture
def process() -> Iterator[Process]:
    started = Process()
    started.load(ECHO)
    yield started
    started.end()
    assert not Path(f"/proc/{started.pid}").exists()


def ask(process: Process, bundle: Loadable, told: object) -> Any:
    return process.request(message(bundle, told), 1.0)


# -- what it has


PROBES = Path(__file__).with_name("confined.py")


def probed(how: str, tmp_path: Path) -> dict[str, Any]:
    """What a program could do, started like the one that evaluates."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    ran = subprocess.run(
        [sys.executable, "-I", "-S", str(PROBES), SITE, str(PROGRAM), how, str(secret)],
        env={},
        cwd="/",
        capture_output=True,
        timeout=60,
        check=True,
    )
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


@linux
def test_a_confined_process_can_do_nothing_but_compute(tmp_path: Path) -> None:
    confined = probed("confined", tmp_path)
    assert confined["done"] == []
    assert confined["environment"] == []


@linux
def test_the_probes_do_what_they_say_when_nothing_confines_them(tmp_path: Path) -> None:
    """The test before could fail."""
    free = probed("free", tmp_path)
    expected = {"reads a file", "writes a file", "lists a folder", "opens a socket", "forks", "spawns", "executes"}
    assert expected <= set(free["done"])


@linux
def test_the_process_itself_has_no_environment_and_four_files(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_PLANTED", "secret")
    started = Process()
    try:
        started.load(ECHO)
        for each in (process, started):
            environment = Path(f"/proc/{each.pid}/environ").read_bytes()
            assert b"secret" not in environment
            assert environment == b""
            assert len(list(Path(f"/proc/{each.pid}/fd").iterdir())) <= 4
            status = Path(f"/proc/{each.pid}/status").read_text()
            assert "NoNewPrivs:\t1" in status
            assert Path(f"/proc/{each.pid}/cwd").resolve() == Path("/")
    finally:
        started.end()


# -- what it takes


def test_what_takes_too_long_is_ended_by_whoever_waits(process: Process) -> None:
    process.load(ENDLESS)
    began = time.monotonic()
    with pytest.raises(Overrun, match="too long"):
        process.request(message(ENDLESS, {}), EVALUATION_SECONDS)
    assert time.monotonic() - began < EVALUATION_SECONDS + 2 * pool.PATIENCE_SECONDS


@linux
def test_what_takes_too_long_ends_by_itself_when_nobody_waits() -> None:
    """Should whoever started it be gone or stuck, it does not compute for ever."""
    started = subprocess.Popen(
        [sys.executable, "-I", "-S", str(PROGRAM), SITE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, cwd="/"
    )
    try:
        for each in (json.dumps(ENDLESS.message()).encode(), message(ENDLESS, {})):
            assert started.stdin is not None
            started.stdin.write(struct.pack(">I", len(each)) + each)
            started.stdin.flush()
        _, status, used = os.wait4(started.pid, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGXCPU
        assert used.ru_utime + used.ru_stime < 2 * CPU_SECONDS + 3
    finally:
        started.kill()
        started.communicate()


@linux
def test_what_takes_too_much_memory_is_ended(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "\n\t".join(f'a{each + 1} := concat("", [a{each}, a{each}])' for each in range(34))
    greedy = loadable(f'x := count(a34) if {{\n\ta0 := "0123456789abcdef"\n\t{lines}\n}}', "greedy")
    process.load(greedy)
    with pytest.raises(Overrun, match=r"memory|ended"):
        process.request(message(greedy, {}), 60.0)
    assert process.resident < 4 * MEMORY_BYTES


@linux
def test_a_process_that_is_full_is_replaced_between_two_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MEMORY_BYTES", 1 << 20)  # any process has more than that
    started = Pool()
    try:
        monkeypatch.setattr(Process, "_watch_memory", lambda _: None)
        seen = set()
        for value in range(4):
            assert started.ask(ECHO, ENTRY, json.dumps({"v": value}).encode()).result(30) == [[value]]
            seen |= started.pids
        assert started.restarts == 0
    finally:
        started.close()


def test_a_parent_with_much_memory_does_not_count() -> None:
    """Linux tells a new process of its parent's memory as if it were its own."""
    weight = bytearray(MEMORY_BYTES + (64 << 20))
    weight[:: os.sysconf("SC_PAGE_SIZE")] = b"x" * len(weight[:: os.sysconf("SC_PAGE_SIZE")])
    started = Process()
    try:
        started.load(ECHO)
        assert ask(started, ECHO, {"v": 1})["results"] == [[1]]
    finally:
        started.end()
    assert weight


def test_an_answer_that_is_too_long_is_none(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MOST_ANSWER_BYTES", 1_000)
    assert ask(process, ECHO, {"v": "x" * 100})["results"] == [["x" * 100]]
    with pytest.raises(Overrun, match="long"):
        ask(process, ECHO, {"v": "x" * 2_000})


# -- what is said to it


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{" * 100,
        b"[" * 100_000,
        b'{"op": "ask"}',
        b'{"op": "ask", "id": "nobody", "entries": [], "input": {}}',
        b'{"op": "ask", "id": "one", "entries": ["p/nowhere"], "input": {}}',
        b'{"op": "ask", "id": "one", "entries": ["p/x"], "input": {"v": NaN}}',
        b'{"op": "ask", "id": "one", "entries": ["p/x"], "input": {"v": 1e400}}',
        b'{"op": "ask", "id": ["one"], "entries": ["p/x"], "input": {}}',
        b'{"op": "load", "id": "x", "modules": {"x": 7}, "data": {}, "entries": []}',
        b'{"op": "load", "id": "x", "modules": {}, "data": [], "entries": ["x/y"]}',
        b'{"op": "nothing"}',
    ],
)
def test_garbage_is_answered_and_forgotten(process: Process, garbage: bytes) -> None:
    try:
        answer = process.request(garbage, 5.0)
    except PolicyTrouble:
        return  # it ended, and whoever asked knows
    assert "results" not in answer or answer["results"] != [[True]]
    assert ask(process, ECHO, {"v": "still there"})["results"] == [["still there"]]


def test_the_end_of_its_input_ends_it() -> None:
    started = subprocess.Popen(
        [sys.executable, "-I", "-S", str(PROGRAM), SITE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, cwd="/"
    )
    out, _ = started.communicate(struct.pack(">I", 1_000) + b"half a message", timeout=30)
    assert (started.returncode, out) == (0, b"")


def test_what_a_policy_prints_is_no_part_of_the_answer(process: Process) -> None:
    printing = loadable('x := input.v if {\n\tprint("\\u0000\\u0000\\u0000\\u0001{}", input)\n}', "printing")
    if "loaded" in process.load(printing):
        assert ask(process, printing, {"v": "said"})["results"] in ([["said"]], [[]])
    assert ask(process, ECHO, {"v": 7})["results"] == [[7]]


def test_more_bundles_than_it_keeps_are_loaded_again() -> None:
    started = Pool()
    try:
        bundles = [loadable(f"x := {number}", f"bundle-{number}") for number in range(MOST_BUNDLES + 8)]
        for _ in range(2):
            for number, bundle in enumerate(bundles):
                assert started.ask(bundle, ENTRY, b"{}").result(30) == [[number]]
        assert started.restarts == 0
    finally:
        started.close()


VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**63,
    10**30,
    0.1,
    1e-7,
    1 / 3,
    1e300,
    "",
    'a"b\\c\n\t\r\x00\x01\x1f\x7f',
    '"quoted"',
    "undefined",
    "é日\U0001f600\u2028\ufeff\u202e",
    [],
    {},
    [[[]], {"": [None]}],
    {'"': '"', "\n": "\n", "\x00": "\x00"},
    {"allow": False, "reason": 'x","allow":true,"y":"z'},
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:30])
def test_every_value_comes_out_as_it_went_in(process: Process, value: object) -> None:
    answer = ask(process, ECHO, {"v": value})["results"][0][0]
    assert answer == value
    assert type(answer) is type(value)


@pytest.mark.parametrize("text", ["\U0010ff00", "\U0010ff22", "a\U0010ff5cb", "\U0010ffff\U0010fffe"])
def test_private_characters_are_not_mistaken_for_those_in_whose_place_the_engine_has_them(
    process: Process, text: str
) -> None:
    same = loadable('x := [input.v == "\\"", input.v == "\\\\", input.v == "\\u0000", count(input.v)]', "same")
    assert "loaded" in process.load(same)
    asked = {"op": "ask", "id": same.id, "entries": ENTRY, "input": {"v": text}}
    for ascii_only in (True, False):
        found = process.request(json.dumps(asked, ensure_ascii=ascii_only).encode(), 1.0)["results"][0][0]
        assert found[:3] == [False, False, False]
    assert ask(process, ECHO, {"v": {text: [text]}})["results"] == [[{text: [text]}]]


# -- when it dies


@linux
def test_it_dies_with_its_parent() -> None:
    program = (
        "import sys, time\n"
        "from recollect.backends.rego.pool import Process\n"
        "process = Process()\n"
        "print(process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
    finally:
        parent.kill()
        parent.communicate()
    _wait(lambda: not _runs(child))


@linux
def test_it_dies_with_its_parent_even_in_the_middle_of_something() -> None:
    program = textwrap.dedent(
        """
        import json, sys
        from recollect.backends.rego.pool import Loadable, Process
        process = Process()
        process.load(Loadable("one", {"p.rego": sys.argv[1]}, {}, ("p/x",)))
        print(process.pid, flush=True)
        process.request(json.dumps({"op": "ask", "id": "one", "entries": ["p/x"], "input": {}}).encode(), 600)
        """
    )
    text = ENDLESS.modules["p.rego"]
    parent = subprocess.Popen([sys.executable, "-c", program, text], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(0.2)
    finally:
        parent.kill()
        parent.communicate()
    _wait(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _wait(until: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def right(user: str, namespace: tuple[str, ...]) -> Decision:
    return Decision(True) if namespace == ("user", user) else Decision(False, "access denied")


async def counted(policy: RegoPolicy, count: int, enough: Callable[[], bool] = lambda: True) -> tuple[int, int, int]:
    """How many decisions were right, denied for trouble, and wrong; at least so many, and until there are `enough`."""
    good = trouble = wrong = 0
    deadline = time.monotonic() + 120
    for number in takewhile(lambda number: number < count or not enough(), itertools.count()):
        assert number < count or time.monotonic() < deadline
        user, namespace = f"user-{number}", ("user", f"user-{number // 2 * 2}")
        caller = Caller("t", user, scopes=frozenset(Scope), credential="x")
        try:
            decision = await policy.authorize(caller, Action.READ, namespace, "k")
        except PolicyTrouble:
            trouble += 1
            policy._overruns = 0  # as if it had rested
            continue
        if decision == right(user, namespace):
            good += 1
        else:
            wrong += 1
    return good, trouble, wrong


LEAST_RESTARTS = 4


async def harassed(count: int, number: int, pauses: tuple[float, float]) -> tuple[int, int, int]:
    """The same, while somebody sends a signal to the processes now and then."""
    engine = RegoEngine(shipped_bundle(), clock=ManualClock(), processes=2)
    policy = await engine.policy(None)
    random, stop = Random(1), threading.Event()

    def harass() -> None:
        while not stop.wait(random.uniform(*pauses)):
            for pid in list(engine.pool.pids):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    harasser = threading.Thread(target=harass)
    harasser.start()
    try:
        found = await counted(policy, count, lambda: engine.pool.restarts >= LEAST_RESTARTS)
    finally:
        stop.set()
        harasser.join()
    deadline = time.monotonic() + 60
    caller = Caller("t", "ann", scopes=frozenset(Scope), credential="x")
    while True:  # it recovers, once it is left alone
        try:
            assert (await policy.authorize(caller, Action.READ, ("user", "ann"), "k")).allow
            break
        except PolicyTrouble:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
    pids = set(engine.pool.pids)
    await engine.close()
    pool._spare.end()
    _wait(lambda: not any(_runs(pid) for pid in pids))
    return found


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
@sized(200, 5_000)
async def test_a_process_that_is_killed_makes_no_decision_wrong(number: int, count: int) -> None:
    good, trouble, wrong = await harassed(count, number, (0.05, 0.5))
    assert wrong == 0
    assert good + trouble >= count
    assert good > 0


@linux
async def test_a_single_hiccup_denies_nothing_that_a_proven_policy_allows() -> None:
    engine = RegoEngine(shipped_bundle(), clock=ManualClock())
    policy = await engine.policy(None)
    caller = Caller("t", "ann", scopes=frozenset(Scope), credential="x")
    assert (await policy.authorize(caller, Action.READ, ("user", "ann"), "k")).allow
    for pid in engine.pool.pids:
        os.kill(pid, signal.SIGKILL)
    assert (await policy.authorize(caller, Action.WRITE, ("user", "ann"), "k")).allow
    assert engine.pool.restarts == 1
    await engine.close()


@linux
@sized(200, 20_000)
async def test_a_process_that_is_stopped_makes_no_decision_wrong_and_nobody_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(pool, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(pool, "START_SECONDS", 0.5)
    monkeypatch.setattr(pool, "LOAD_SECONDS", 0.5)
    began = time.monotonic()
    good, trouble, wrong = await harassed(count, signal.SIGSTOP, (0.3, 1.0))
    assert wrong == 0
    assert good + trouble >= count
    assert good > 0
    assert time.monotonic() - began < 240 + count / 5


async def test_a_wrong_decision_would_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests before could fail: a process that answers the question before this one is noticed."""
    engine = RegoEngine(shipped_bundle(), clock=ManualClock())
    policy = await engine.policy(None)
    asked = Pool.ask
    late: list[Any] = []

    def ask_late(self: Pool, *arguments: Any) -> Any:
        late.append(asked(self, *arguments))
        return late[-2 if len(late) > 1 else -1]

    monkeypatch.setattr(Pool, "ask", ask_late)
    _, _, wrong = await counted(policy, 20)
    assert wrong > 0
    await engine.close()


async def test_no_process_outlives_its_engine_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SPARE_SECONDS", 0.2)
    pool._spare.end()
    engine = RegoEngine(shipped_bundle(), clock=ManualClock(), processes=2)
    policy = await engine.policy(None)
    caller = Caller("t", "ann", scopes=frozenset(Scope), credential="x")
    decisions = [policy.authorize(caller, Action.READ, ("user", f"u{number}"), "k") for number in range(20)]
    assert [decision.allow for decision in await asyncio.gather(*decisions)] == [False] * 20
    pids = set(engine.pool.pids)
    assert pids
    await engine.close()
    _wait(lambda: not any(_runs(pid) for pid in pids), 10)
    with pytest.raises(PolicyTrouble):
        await policy.authorize(caller, Action.READ, ("user", "somebody"), "k")
