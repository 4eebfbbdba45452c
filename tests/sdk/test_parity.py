"""The client is what it says: the same calls, errors and values as in process, in both forms, and light."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.architecture import rules
from tools.generate_client import CLIENT, client_errors, generated, sync_client

import recollect
import recollect_client
from recollect.domain import errors as service_errors
from recollect.ports import policy
from recollect.service import audit, policies, tuning, views
from recollect_client import AsyncClient, Client, errors

IN_PROCESS_ONLY = {"for_tenant", "for_caller", "finish_erasures", "recall_precision", "summarize_pending"}
CLIENT_ONLY = {"follow"}
CLIENT_ERRORS = {"ConnectionFailed", "BadAnswer"}
MODULES = [pytest.param(path, id=path.stem) for path in rules.modules(CLIENT)]


def methods(cls: type[Any]) -> dict[str, list[tuple[str, Any, Any]]]:
    """Name, kind and default of every parameter of every public method."""
    found = {}
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_"):
            parameters = inspect.signature(method).parameters.values()
            found[name] = [(each.name, each.kind, each.default) for each in parameters]
    return found


def of_service(cls: type[Any]) -> dict[str, list[tuple[str, Any, Any]]]:
    return {
        name: [each for each in parameters if each[0] != "policy_attributes"]
        for name, parameters in methods(cls).items()
        if name not in IN_PROCESS_ONLY
    }


def test_the_client_has_the_same_calls_as_in_process() -> None:
    client = {name: found for name, found in methods(AsyncClient).items() if name not in CLIENT_ONLY}
    assert client == of_service(recollect.Memories)


def test_a_parameter_that_differs_is_caught() -> None:
    class Other(AsyncClient):
        async def head(self, *, loud: bool = False) -> str:
            return str(loud)

    assert methods(Other) != methods(AsyncClient)


def test_both_clients_have_the_same_calls() -> None:
    assert methods(Client) == methods(AsyncClient)
    for name in methods(Client):
        assert not inspect.iscoroutinefunction(getattr(Client, name))
        assert inspect.getdoc(getattr(Client, name)) == inspect.getdoc(getattr(AsyncClient, name))
    assert inspect.isgeneratorfunction(Client.follow)
    assert inspect.isasyncgenfunction(AsyncClient.follow)


def test_the_generated_files_are_fresh() -> None:
    for path, text in generated().items():
        assert path.read_text() == text, f"{path.name} is not what `make generate` would write"


def test_a_word_of_the_event_loop_that_no_rule_covers_is_caught() -> None:
    sync_client('"""A module."""\nasync def f() -> None:\n    await g()\n')
    with pytest.raises(ValueError, match="asyncio"):
        sync_client('"""A module."""\nx = asyncio.Lock()\n')


def test_the_errors_are_those_of_the_service_and_two_more() -> None:
    known = [cls for cls in service_errors.all_errors() if cls.__module__ == service_errors.__name__]
    theirs = {cls.__name__: cls for cls in known}
    ours = {cls.__name__: cls for cls in errors.all_errors()}
    assert set(ours) - set(theirs) == CLIENT_ERRORS
    for name, cls in theirs.items():
        mine = ours[name]
        assert (mine.code, mine.retriable, mine.advice()) == (cls.code, cls.retriable, cls.advice())
        assert [base.__name__ for base in mine.__mro__] == [base.__name__ for base in cls.__mro__]


def test_an_error_of_the_service_that_is_missing_is_caught() -> None:
    text = (CLIENT.parent / "recollect/domain/errors.py").read_text()
    more = text + '\n\nclass OfTomorrow(Conflict):\n    """Wait a day."""\n\n    code = "of_tomorrow"\n'
    assert client_errors(more) != client_errors(text)
    assert "class OfTomorrow(Conflict)" in client_errors(more)


def test_an_error_survives_being_pickled() -> None:
    error = errors.RevisionConflict("no", code="x", details={"a": 1}, status=409, request_id="r")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (errors.RevisionConflict, vars(error), "no")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (recollect_client.Item, recollect.Item),
        (recollect_client.Written, recollect.Written),
        (recollect_client.Event, recollect.MemoryEvent),
        (recollect_client.Events, recollect.Events),
        (recollect_client.Found, recollect.Found),
        (recollect_client.Verification, recollect.Verification),
        (recollect_client.Problem, recollect.Problem),
        (recollect_client.ErasureReceipt, recollect.ErasureReceipt),
        (recollect_client.PutOp, recollect.PutOp),
        (recollect_client.DeleteOp, recollect.DeleteOp),
        (recollect_client.PolicyVersion, policies.PolicyVersion),
        (recollect_client.PolicyInForce, policies.PolicyInForce),
        (recollect_client.Simulation, policies.Simulation),
        (recollect_client.PolicyProblem, policy.Problem),
        (recollect_client.Check, policy.Check),
        (recollect_client.Report, policy.Report),
        (recollect_client.Decision, policy.Decision),
        (recollect_client.Narrowed, policy.Narrowed),
        (recollect_client.Clause, policy.Clause),
        (recollect_client.Explanation, policy.Explanation),
        (recollect_client.AuditEntry, audit.AuditEntry),
        (recollect_client.AuditPage, audit.AuditPage),
        (recollect_client.Extraction, views.Extraction),
        (recollect_client.IndexStatus, views.IndexStatus),
        (recollect_client.Rebuilding, views.Rebuilding),
        (recollect_client.Tuned, tuning.Tuned),
    ],
)
def test_values_have_the_names_they_have_in_process(mine: type[Any], theirs: type[Any]) -> None:
    internal = {"row", "entry", "outcome", "policy_attributes", "of"}
    public = {name for name in dir(theirs) if not name.startswith("_")} - internal
    assert public <= set(dir(mine))


def test_values_are_frozen() -> None:
    operation = recollect_client.PutOp(("a",), "k", {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        operation.key = "x"  # type: ignore[misc] # that is the point
    models = [value for value in vars(recollect_client).values() if isinstance(value, type)]
    structs = [model for model in models if issubclass(model, msgspec.Struct)]
    assert len(structs) >= 28
    assert all(struct.__struct_config__.frozen for struct in structs)


def test_the_client_brings_nothing_of_the_service_with_it() -> None:
    program = "import sys, recollect_client; print(sorted(m for m in sys.modules if m.partition('.')[0] in sys.argv))"
    unwanted = ["recollect", "apsw", "cryptography", "starlette", "uvicorn"]
    run = subprocess.run([sys.executable, "-c", program, *unwanted], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("path", MODULES)
def test_a_module_of_the_client_keeps_the_rules(path: Path) -> None:
    source = path.read_text()
    assert "recollect" not in set(rules.imported(ast.parse(source)))
    assert rules.opening_flaw(source) is None
    assert not rules.says_nothing(path)
    assert rules.runs_stored_code(source) == []
    assert len(source.splitlines()) <= 500


def test_an_import_of_the_service_is_caught() -> None:
    assert "recollect" in set(rules.imported(ast.parse("from recollect.domain import errors")))


def test_the_exported_names_are_exactly_those_that_exist() -> None:
    assert list(recollect_client.__all__) == sorted(recollect_client.__all__)
    assert all(hasattr(recollect_client, name) for name in recollect_client.__all__)
    assert (CLIENT / "py.typed").is_file()
