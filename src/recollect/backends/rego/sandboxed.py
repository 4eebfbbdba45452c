"""The program that evaluates Rego: a process of its own, without environment, files, network or much memory.

It is started by its path and knows nothing of Recollect. Requests come on standard input and answers go to what was
standard output, each a JSON object behind its length. Whoever started it watches its time and memory, and kills it.

rego-cpp keeps strings as they are escaped in JSON, so that `count("a\\nb")` is 4 and `contains("a\\nb", "n")` holds.
Therefore no string with an escape reaches it: characters that JSON must escape stand in the private range at the
end of Unicode while they are inside, in the input here as in the text of policies, and are put back on the way out.
Nor is its own JSON read, in which nothing is escaped: answers are taken from the nodes of its output.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import struct
import sys
from typing import Any, BinaryIO

STEP = ":"
"""What stands for `/` in the names of modules: of a path, the engine remembers only the end."""
SHIFT = 0x10FF00
"""Where characters that JSON must escape stand while they are inside the engine."""
CPU_SECONDS = 2
MOST_BUNDLES = 32
MOST_PLAN_BYTES = 64 << 20
_FILES = 4
"""Standard input, output and error, and where answers go: no file and no socket can be opened beside them."""
_FILES_TO_SAVE = 16
_ESCAPED = (*range(0x20), 0x22, 0x5C)
_FURTHER = 0x10E000
_MARK = "\U0010fffe"
_OF_OURS = re.compile(f"{_MARK}(.)", re.DOTALL)
_IN = {code: chr(code + SHIFT) for code in _ESCAPED} | {
    code: _MARK + chr(code - SHIFT + _FURTHER) for code in range(SHIFT, 0x110000)
}
"""Characters that stand in that range already stand for themselves behind a mark."""
_OUT = {code + SHIFT: code for code in _ESCAPED}
_FIRST_BYTES = chr(SHIFT).encode()[:2]
_INT64 = 1 << 63
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_SECCOMP_MODE_FILTER = 2
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050001
_OTHER_NUMBERS = 0x40000000
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_FORBIDDEN: dict[str, tuple[int | None, int | None]] = {
    "accept": (43, 202),
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "listen": (50, 201),
    "memfd_create": (319, 279),
    "mount": (165, 40),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "setns": (308, 268),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vfork": (58, None),
}
"""Calls of the system that no evaluation needs: other programs, processes and threads, the network, other memory."""


def main() -> None:
    """Answer until the input ends."""
    import regopy

    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # `print` in a policy writes there
    os.close(nowhere)
    regopy.set_default_log_level("None")
    confine()
    engine = Evaluator(regopy)
    while (message := receive(sys.stdin.buffer)) is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (_cpu_used() + CPU_SECONDS, resource.RLIM_INFINITY))
        send(answers, engine.answer(message))


def confine() -> None:
    """Give up everything that evaluating does not need."""
    if sys.platform == "linux":
        control = ctypes.CDLL(None, use_errno=True).prctl
        control(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if (program := _forbidding(os.uname().machine)) is not None:
            rules = ctypes.create_string_buffer(program, len(program))
            told = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(rules))
            control(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(told, len(told)), 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES_TO_SAVE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, MOST_PLAN_BYTES))


def _forbidding(machine: str) -> bytes | None:
    """The program that the system asks at every call: those below are refused, which limits do not do for root."""
    if machine not in _MACHINES:
        return None
    architecture, place = _MACHINES[machine]
    calls = [numbers[place] for numbers in _FORBIDDEN.values() if numbers[place] is not None]
    steps = [
        (_LOAD, 0, 0, 4),  # for which architecture the call is
        (_IF_EQUAL, 0, len(calls) + 3, architecture),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_IF_AT_LEAST, len(calls) + 1, 0, _OTHER_NUMBERS),
        *((_IF_EQUAL, len(calls) - at, 0, number) for at, number in enumerate(calls)),
        (_RETURN, 0, 0, _ALLOWED),
        (_RETURN, 0, 0, _REFUSED),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


class Saving:
    """The moment in which a compiled plan may be written; no policy is evaluated meanwhile."""

    def __enter__(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES_TO_SAVE, _FILES_TO_SAVE))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_PLAN_BYTES, MOST_PLAN_BYTES))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES_TO_SAVE))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, MOST_PLAN_BYTES))


def _cpu_used() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(used.ru_utime + used.ru_stime) + 1


class Evaluator:
    """Compiled bundles by name, and the rules that can be asked of each."""

    def __init__(self, regopy: Any) -> None:
        self._regopy = regopy
        self._shared = regopy.rego_shared
        self._loaded: dict[str, tuple[Any, Any]] = {}

    def answer(self, message: bytes) -> dict[str, Any]:
        """The answer to a request; a fault is one too."""
        try:
            asked, plain = decode(message)
            if asked["op"] == "load":
                return self._load(asked)
            return self._ask(asked, plain)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the other side must hear of it
            return {"fault": f"{type(problem).__name__}: {problem}"[:2_000]}

    def _load(self, asked: dict[str, Any]) -> dict[str, Any]:
        engine = self._regopy.Interpreter()
        # Otherwise the error of a built-in is a value, so that `allow if { x := count(7) }` would allow.
        engine.strict_built_in_errors = True
        engine.add_data_json(json.dumps(_inside(asked["data"]), ensure_ascii=False))
        problems = []
        for name, text in asked["modules"].items():
            try:
                engine.add_module(name.replace("/", STEP), text)
            except self._regopy.RegoError as problem:
                problems.append({"module": name, "error": str(problem)[:2_000]})
        if problems:
            return {"problems": problems}
        bundle = engine.build(None, asked["entries"])
        if not bundle.ok():
            return {"problems": [{"module": "", "error": self._complaints(bundle.node()._impl)[:2_000]}]}
        if asked.get("save"):
            with Saving():
                engine.save_bundle(asked["save"], bundle)
        if len(self._loaded) >= MOST_BUNDLES:
            del self._loaded[next(iter(self._loaded))]
        self._loaded[asked["id"]] = (engine, bundle)
        return {"loaded": list(self._loaded)}

    def _complaints(self, node: Any) -> str:
        """What the compiler has to say, in the same form as when it reads a module."""
        shared = self._shared
        return " ".join(
            shared.rego_node_json(shared.rego_node_get(node, place)) for place in range(shared.rego_node_size(node))
        )

    def _ask(self, asked: dict[str, Any], plain: bool) -> dict[str, Any]:
        found = self._loaded.get(asked["id"])
        if found is None:
            return {"unknown": True}
        engine, bundle = found
        if plain:
            engine.set_input(asked["input"])
        else:  # numbers keep every digit only when they come as text
            engine.set_input_term(json.dumps(asked["input"], ensure_ascii=False))
        answers = [self._answer(engine, bundle, entry) for entry in asked["entries"]]
        return {"results": answers}

    def _answer(self, engine: Any, bundle: Any, entry: str) -> list[Any]:
        """What one rule says: a list with its value, or an empty one."""
        shared = self._shared
        output = shared.rego_bundle_query_entrypoint(engine._impl, bundle._impl, entry)
        try:
            if not shared.rego_output_ok(output):
                raise RuntimeError(shared.rego_output_string(output))
            text = shared.rego_output_string(output)
            if text.startswith("(error"):  # which it may be in spite of all being well
                raise RuntimeError(text)
            if text == "undefined":
                return []
            terms = shared.rego_output_expressions_at_index(output, 0)
            return [put_back(self._value(shared.rego_node_get(terms, 0)))]
        finally:
            shared.rego_free_output(output)

    def _value(self, node: Any) -> Any:
        shared, kinds = self._shared, self._shared.NodeKind
        kind = shared.rego.regoNodeType(node)  # what regopy makes of it, and of its text, is not always true
        if kind in (kinds.Term, kinds.Scalar):
            return self._value(shared.rego_node_get(node, 0))
        if kind == kinds.String:
            return _unquoted(shared.rego_node_value(node))
        if kind in (kinds.True_, kinds.False_):
            return bool(kind == kinds.True_)
        if kind == kinds.Null:
            return None
        if kind in (kinds.Int, kinds.Float):
            return json.loads(shared.rego_node_value(node))
        children = [shared.rego_node_get(node, place) for place in range(shared.rego_node_size(node))]
        if kind == kinds.Array:
            return [self._value(child) for child in children]
        if kind == kinds.Set:
            return sorted((self._value(child) for child in children), key=_order)
        if kind == kinds.Object:
            pairs = [[self._value(shared.rego_node_get(child, side)) for side in (0, 1)] for child in children]
            if not all(isinstance(name, str) for name, _ in pairs):
                raise ValueError("an object has a name that is not text")
            return dict(pairs)
        raise ValueError(f"an answer holds what is no value: {shared.rego_node_type_name(node)}")


def _unquoted(text: str) -> str:
    """A string as it is: some that built-ins made are kept with quotes around them, and no others can have any."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _order(value: Any) -> tuple[int, Any]:
    """What sorts the elements of a set, which has no order of its own, as OPA does."""
    if value is None:
        return 0, 0
    if isinstance(value, bool):
        return 1, value
    if isinstance(value, int | float):
        return 2, value
    if isinstance(value, str):
        return 3, put_back(value)
    if isinstance(value, list):
        return 4, [_order(each) for each in value]
    return 5, [(_order(name), _order(value[name])) for name in sorted(value)]


def decode(message: bytes) -> tuple[dict[str, Any], bool]:
    """A request with its strings as the engine can take them, and whether its numbers are plain whole ones."""
    exact = True

    def whole(text: str) -> int:
        nonlocal exact
        number = int(text)
        exact = exact and -_INT64 <= number < _INT64
        return number

    def fraction(text: str) -> float:
        nonlocal exact
        exact = False
        return float(text)

    asked: dict[str, Any] = json.loads(message, parse_int=whole, parse_float=fraction)
    if (b"\\" in message or _FIRST_BYTES in message) and asked["op"] != "load":
        asked["input"] = _inside(asked["input"])
    return asked, exact


def put_in(text: str) -> str:
    """A text as it stands inside the engine."""
    return text.translate(_IN)


def put_back(value: Any) -> Any:
    """What the engine answered, with its characters as they were."""
    if isinstance(value, str):
        if _MARK not in value:
            return value.translate(_OUT)
        pieces = _OF_OURS.split(value)  # text, and every other time what stood behind a mark
        pieces[::2] = [piece.translate(_OUT) for piece in pieces[::2]]
        pieces[1::2] = [chr(ord(piece) - _FURTHER + SHIFT) for piece in pieces[1::2]]
        return "".join(pieces)
    if isinstance(value, list):
        return [put_back(each) for each in value]
    if isinstance(value, dict):
        return {put_back(name): put_back(each) for name, each in value.items()}
    return value


def _inside(value: Any) -> Any:
    if isinstance(value, str):
        return value.translate(_IN)
    if isinstance(value, list):
        return [_inside(each) for each in value]
    if isinstance(value, dict):
        return {name.translate(_IN): _inside(each) for name, each in value.items()}
    return value


def receive(source: BinaryIO) -> bytes | None:
    """The next message, or None at the end."""
    head = source.read(4)
    if len(head) < 4:
        return None
    size = struct.unpack(">I", head)[0]
    body = source.read(size)
    return body if len(body) == size else None


def send(target: BinaryIO, answer: dict[str, Any]) -> None:
    """One message, whole."""
    body = json.dumps(answer, ensure_ascii=False).encode()
    target.write(struct.pack(">I", len(body)) + body)
    target.flush()


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    main()
