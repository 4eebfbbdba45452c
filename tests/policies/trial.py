"""Puts questions to the policy engine, each in a process of its own that is ended when it takes too long or too much.

Run as a program, with nothing in its environment: it reads one question per line and answers with one outcome per line.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import regopy
from regopy import Interpreter, RegoError, rego_shared

_MESSAGE = re.compile(r"\(errormsg (\d+):")
_PART = 1 << 16
_LOOK = 0.02


def attempt(asked: dict[str, Any]) -> dict[str, Any]:
    """Everything that the engine makes of the question."""
    told: dict[str, Any] = {"stage": "start", "builtins": None}
    try:
        if asked["evaluator"]:
            _in_production(asked, told)
        else:
            _compiled_and_asked(asked, told)
    except (RegoError, ValueError, OSError) as error:
        told |= failure(str(error))
    return told


def _compiled_and_asked(asked: dict[str, Any], told: dict[str, Any]) -> None:
    """Compile modules and query into a bundle, as policies are, and ask it."""
    rego = Interpreter()
    rego.strict_built_in_errors = asked["strict"]
    told["stage"] = "modules"
    for number, module in enumerate(asked["modules"]):
        rego.add_module(f"test-{number}.rego", module)
    told["stage"] = "data"
    if asked["data"] is not None:
        rego.add_data_json(json.dumps(asked["data"]))
    told["stage"] = "build"
    bundle = rego.build(asked["query"])
    if not bundle.ok():
        raise RegoError(bundle.node().json(), 1)
    with tempfile.TemporaryDirectory() as folder:
        rego.save_bundle(folder, bundle)
        plan = json.loads(Path(folder, "plan.json").read_bytes())
    told["builtins"] = sorted(declared["name"] for declared in plan["static"].get("builtin_funcs", ()))
    told["stage"] = "input"
    if asked["input_term"] is not None:
        rego.set_input_term(asked["input_term"])
    elif asked["input"] is not None:
        rego.set_input(asked["input"])
    told["stage"] = "evaluation"
    output = rego_shared.rego_bundle_query(rego._impl, bundle._impl)
    try:
        told |= _said(output)
    finally:
        rego_shared.rego_free_output(output)


def _said(output: Any) -> dict[str, Any]:
    """An answer, word by word, or the errors that are in its place."""
    text = rego_shared.rego_output_string(output)
    if rego_shared.rego_output_ok(output) and not text.startswith("(error"):
        return {"outcome": "answer", "text": text}
    root = rego_shared.rego_output_node(output)
    errors = [root] if text.startswith("(error") else _children(root)
    said = failure("\n".join(rego_shared.rego_node_json(error) for error in errors))
    said["codes"] = [rego_shared.rego_node_value(part) for error in errors for part in _children(error)[2:]]
    return said


def _children(node: Any) -> list[Any]:
    return [rego_shared.rego_node_get(node, n) for n in range(rego_shared.rego_node_size(node))]


def failure(text: str) -> dict[str, Any]:
    """What the engine said of an error, with its messages."""
    raw, messages = text.encode(), []
    for found in _MESSAGE.finditer(text):
        start = len(text[: found.end()].encode())
        messages.append(raw[start : start + int(found[1])].decode(errors="replace"))
    return {"outcome": "error", "text": text, "codes": [], "messages": messages}


def _in_production(asked: dict[str, Any], told: dict[str, Any]) -> None:
    """Put the question to the very program that evaluates policies, in the way in which its input is encoded."""
    found = importlib.util.spec_from_file_location("sandboxed", asked["evaluator"])
    assert found is not None
    assert found.loader is not None
    sandboxed = importlib.util.module_from_spec(found)
    found.loader.exec_module(sandboxed)
    sandboxed.confine()
    evaluator = sandboxed.Evaluator(regopy)
    modules = {f"test-{number}.rego": text for number, text in enumerate(asked["modules"])}
    entry = [asked["query"]]
    load = {"op": "load", "id": "1", "modules": modules, "data": asked["data"] or {}, "entries": entry}
    loaded = evaluator.answer(json.dumps(load).encode())
    if "loaded" not in loaded:
        raise RegoError(json.dumps(loaded), 1)
    told["stage"] = "evaluation"
    said = evaluator.answer(json.dumps({"op": "ask", "id": "1", "input": asked["input"], "entries": entry}).encode())
    if "results" not in said:
        raise RegoError(json.dumps(said), 1)
    rows = [{"bindings": {"x": value}} for value in said["results"][0]]
    told |= {"outcome": "answer", "text": json.dumps(rows)}


def child(asked: dict[str, Any], pipe: int) -> None:
    """Try it, and write the outcome to the pipe; does not return."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The engine prints what a policy prints, and its last words, where answers are expected.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.dup2(silence, sys.stderr.fileno())
    with contextlib.suppress(BaseException), os.fdopen(pipe, "wb") as answer:
        answer.write(json.dumps(attempt(asked)).encode())
    os._exit(0)


def watched(asked: dict[str, Any]) -> dict[str, Any]:
    """The outcome, or how the process that was to find it came to an end."""
    started = time.monotonic()
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        child(asked, writes)
    os.close(writes)
    said, end = b"", ""
    while not end:
        ready, _, _ = select.select([reads], [], [], _LOOK)
        if ready:
            part = os.read(reads, _PART)
            said += part
            end = "" if part else "over"
        elif time.monotonic() - started > asked["seconds"]:
            end = "timeout"
        # The engine's allocator reserves address space without measure, so that only resident memory can be limited.
        elif psutil.Process(pid).memory_info().rss > asked["memory"]:
            end = "memory"
    if end != "over":
        os.kill(pid, signal.SIGKILL)
    os.close(reads)
    _, status = os.waitpid(pid, 0)
    if end != "over":
        return {"outcome": end}
    outcome: dict[str, Any] = json.loads(said) if said else {"outcome": "crash", "text": f"status {status}"}
    return outcome


def main() -> None:
    """Answer every line of the input with one line."""
    regopy.set_default_log_level("None")
    for line in sys.stdin:
        print(json.dumps(watched(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
