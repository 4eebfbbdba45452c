"""MCP on standard input and output: how it begins and ends, what it prints, and many processes on one directory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.typed import COMMAND, PATIENCE, environment, serve
from tests.mcp.clients import HANDSHAKE, MODERN, Place, official
from tests.sizes import sized

BUILTIN = {"RECOLLECT_POLICY_ENGINE": "builtin"}
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


def run(home: Path, *words: str, given: bytes, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, "mcp", *words],
        input=given,
        capture_output=True,
        env=environment(home, **(BUILTIN | more)),
        timeout=PATIENCE,
        check=False,
    )


def line(method: str, params: Any = None, number: int | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return json.dumps(message | ({} if number is None else {"id": number})).encode() + b"\n"


def kept(content: str, number: int) -> bytes:
    arguments = {"type": "fact", "content": content}
    return line("tools/call", {"name": "memory_store", "arguments": arguments}, number)


OPENING = line("initialize", CLIENT, 0) + line("notifications/initialized")


def messages(output: bytes) -> dict[Any, Any]:
    """Every line is a message: nothing else is ever printed there."""
    found = [json.loads(each) for each in output.splitlines()]
    assert all(each["jsonrpc"] == "2.0" for each in found)
    return {each.get("id"): each for each in found}


def begun(home: Path, *words: str) -> subprocess.Popen[bytes]:
    """A process that has answered the opening."""
    process = subprocess.Popen(
        [*COMMAND, "mcp", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home, **BUILTIN),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(OPENING)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "recollect"
    return process


def test_what_was_asked_is_answered_before_the_end_of_the_input_ends_it(tmp_path: Path) -> None:
    asked = OPENING + b"".join(kept(f"note {number}", number) for number in range(1, 11))
    given = asked + b"{broken\n\n[]\n" + line("ping", None, 11).rstrip()
    done = run(tmp_path / "home", "--group", "work", "--session", "s-1", given=given)
    assert (done.returncode, done.stderr) == (0, b"")
    answers = messages(done.stdout)
    assert set(answers) == {*range(12), None}
    results = [answers[number]["result"]["structuredContent"] for number in range(1, 11)]
    assert {(each["session_id"], each["group"]) for each in results} == {("s-1", "work")}
    errors = [json.loads(each)["error"]["code"] for each in done.stdout.splitlines() if b'"error"' in each]
    assert sorted(errors) == [-32700, -32600]


def test_the_environment_names_group_and_session(tmp_path: Path) -> None:
    named = {"RECOLLECT_GROUP": "home", "RECOLLECT_SESSION": "s-2"}
    done = run(tmp_path / "home", given=OPENING + kept("x", 1), **named)
    told = messages(done.stdout)[1]["result"]["structuredContent"]
    assert (told["session_id"], told["group"]) == ("s-2", "home")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--group", "../x"], b"group"),
        (["--session", "a b"], b"session"),
        (["--url", "http://127.0.0.1:9", "--tenant", "x"], b"--tenant"),
        (["--token", "x"], b"--token"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_opened(
    words: list[str], said: bytes, tmp_path: Path
) -> None:
    done = run(tmp_path / "home", *words, given=OPENING)
    assert done.returncode in (1, 2)
    assert done.stdout == b""
    assert said in done.stderr
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_while_it_waits_for_input(how: signal.Signals, tmp_path: Path) -> None:
    with begun(tmp_path / "home") as process:
        process.send_signal(how)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (0, b"", b""), errors.decode()


def test_it_ends_when_its_client_is_killed(tmp_path: Path) -> None:
    """What the client had stored is there, and nothing is left running."""
    home = tmp_path / "home"
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "child.stdin.write(sys.stdin.buffer.read()); child.stdin.flush()\n"
        "print(child.pid, flush=True)\n"
        "[child.stdout.readline() for _ in range(2)]\n"
        "print('stored', flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [COMMAND[0], "-c", program, *COMMAND, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(home, **BUILTIN),
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(OPENING + kept("of a client that was killed", 1))
        client.stdin.close()
        child = int(client.stdout.readline())
        assert client.stdout.readline() == b"stored\n"
        client.kill()
    deadline = time.monotonic() + PATIENCE
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    asked = OPENING + line("tools/call", {"name": "memory_search", "arguments": {}}, 1)
    answer = messages(run(home, given=asked).stdout)[1]
    assert [each["content"] for each in answer["result"]["structuredContent"]["results"]] == [
        "of a client that was killed"
    ]


def test_it_ends_when_nobody_reads_its_answers(tmp_path: Path) -> None:
    with begun(tmp_path / "home") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(line("ping", None, 1))
        process.stdin.flush()
        assert process.wait(PATIENCE) == 0


@sized(4, 8)
async def test_many_processes_on_one_directory_lose_no_write(count: int, tmp_path: Path) -> None:
    """A server that starts for the directory meanwhile breaks none of them, and knows what all of them stored."""
    home, each = tmp_path / "home", 10
    ready = asyncio.Barrier(count + 1)

    async def one(number: int) -> list[str]:
        async with official(Place(home, environment=BUILTIN), HANDSHAKE) as agent:
            await ready.wait()
            first = [await agent.keep(f"process {number} note {note}") for note in range(each // 2)]
            await ready.wait()
            rest = [await agent.keep(f"process {number} note {note}") for note in range(each // 2, each)]
            assert not any(called.is_error for called in (*first, *rest)), [called.text for called in (*first, *rest)]
            return [called.result["content"] for called in (*first, *rest)]

    tasks = [asyncio.create_task(one(number)) for number in range(count)]
    await ready.wait()
    server = await asyncio.to_thread(serve, home)
    try:
        await ready.wait()
        stored = [content for contents in await asyncio.gather(*tasks) for content in contents]
        assert len(stored) == count * each
        async with official(Place(home), MODERN) as agent:
            assert sorted(await agent.found(limit=100)) == sorted(stored), "by the server"
            late = await agent.keep("through the server")
    finally:
        await asyncio.to_thread(server.stop)
    async with official(Place(home, environment=BUILTIN), MODERN) as agent:
        assert sorted(await agent.found(limit=100)) == sorted([*stored, late.result["content"]])


def test_a_server_that_is_away_is_told_as_a_tools_error(tmp_path: Path) -> None:
    asked = OPENING + kept("x", 1) + line("resources/read", {"uri": "recollect://brief"}, 2)
    done = run(tmp_path / "home", "--url", "http://127.0.0.1:9", "--token", "rk_x", given=asked)
    answers = messages(done.stdout)
    told = answers[1]["result"]
    assert told["isError"] is True
    assert told["_meta"]["recollect/error"]["code"] == "PLUGIN_UNAVAILABLE"
    assert told["_meta"]["recollect/error"]["retriable"] is True
    assert answers[2]["result"]["contents"][0]["text"] == ""
    assert not (tmp_path / "home").exists()
