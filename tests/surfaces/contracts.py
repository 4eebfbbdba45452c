"""The public contracts as they are in the repository, for tests that compare them with the code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

_FOLDER = Path(__file__).parents[2] / "contracts"
CONTRACT: dict[str, Any] = msgspec.yaml.decode((_FOLDER / "openapi.yaml").read_bytes())
CONTRACT_FOR_ADMINISTRATORS: dict[str, Any] = msgspec.yaml.decode((_FOLDER / "openapi-admin.yaml").read_bytes())
CONTRACTS = (CONTRACT, CONTRACT_FOR_ADMINISTRATORS)
COMPONENTS: dict[str, dict[str, Any]] = {
    group: {name: each for contract in CONTRACTS for name, each in contract["components"].get(group, {}).items()}
    for group in CONTRACT["components"]
}
"""Those of both; a test proves that what has the same name in both is the same."""
SCHEMAS = COMPONENTS["schemas"]


def operations_of(contract: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation of a contract: its path, its method, and what is said of it."""
    for path, methods in contract["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def each_operation() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation of both."""
    for contract in CONTRACTS:
        yield from operations_of(contract)


PATHS = {path: methods for contract in CONTRACTS for path, methods in contract["paths"].items()}
OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"]) for path, method, operation in each_operation()
]


def followed(node: Any) -> Any:
    """What a reference points to, with what stands beside it; anything else as it is."""
    if not isinstance(node, dict) or "$ref" not in node:
        return node
    _, _, group, name = node["$ref"].split("/")
    return {**followed(COMPONENTS[group][name]), **{each: node[each] for each in node if each != "$ref"}}
