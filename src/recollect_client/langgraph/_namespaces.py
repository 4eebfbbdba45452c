"""Where LangGraph's namespaces lie in ours, and which of them a caller asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

ANY = "*"


class Patterns(NamedTuple):
    """What namespaces begin and end with; `*` stands for exactly one label."""

    prefix: tuple[str, ...]
    suffix: tuple[str, ...]


def checked_root(root: Sequence[str]) -> tuple[str, ...]:
    """The namespace below which all lies; it says where, so it has no wildcards."""
    if isinstance(root, str):
        raise InvalidNamespaceError(f"The root is a tuple of labels: write ({root!r},) instead of {root!r}.")
    if any(not isinstance(label, str) or not label or label == ANY for label in root):
        raise InvalidNamespaceError(f"The labels of a root are text, not empty and not {ANY!r}. Got {root!r}.")
    return tuple(root)


def check_operation(op: Any) -> None:
    """Refuse what LangGraph refuses, also when an operation did not come by way of its methods."""
    match op:
        case PutOp():
            if not op.namespace:
                raise InvalidNamespaceError("Namespace cannot be empty.")
            _check_labels(op.namespace)
        case GetOp():
            _check_labels(op.namespace)
        case SearchOp():
            _check_labels(op.namespace_prefix)
        case ListNamespacesOp():
            for condition in op.match_conditions or ():
                if condition.match_type not in ("prefix", "suffix"):
                    raise ValueError(f"Unsupported match type: {condition.match_type}")
                _check_labels(condition.path)
        case _:
            raise ValueError(f"Unknown operation type: {type(op)}")


def _check_labels(namespace: Iterable[Any]) -> None:
    for label in namespace:
        if not isinstance(label, str):
            flaw = f"must be strings, but got {type(label).__name__}"
        elif not label:
            flaw = "cannot be empty strings"
        elif "." in label:
            flaw = "cannot contain periods ('.')"
        elif "\x00" in label:
            flaw = "cannot contain NUL bytes"
        else:
            continue
        raise InvalidNamespaceError(f"Invalid namespace label {label!r} found in {namespace}. Namespace labels {flaw}.")


def patterns(conditions: Iterable[MatchCondition], root: tuple[str, ...]) -> Patterns | None:
    """All conditions as one prefix and one suffix below a root; None when no namespace can meet them."""
    prefix: tuple[str, ...] | None = ()
    suffix: tuple[str, ...] | None = ()
    for condition in conditions:
        path = tuple(condition.path)
        if condition.match_type == "prefix":
            prefix = _both(prefix, path)
        else:
            backward = _both(suffix[::-1], path[::-1]) if suffix is not None else None
            suffix = None if backward is None else backward[::-1]
    if prefix is None or suffix is None:
        return None
    if root:
        # So many labels must follow the root that a suffix cannot reach into it, and one at least.
        prefix = (*root, *prefix, *(ANY,) * (max(1, len(suffix)) - len(prefix)))
    return Patterns(prefix, suffix)


def _both(one: tuple[str, ...] | None, other: tuple[str, ...]) -> tuple[str, ...] | None:
    """The pattern of what begins like both; None when nothing does."""
    if one is None:
        return None
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    merged = list(longer)
    for place, label in enumerate(shorter):
        if merged[place] == ANY:
            merged[place] = label
        elif label not in (ANY, merged[place]):
            return None
    return tuple(merged)
