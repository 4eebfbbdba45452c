"""How an address and a scope are asked for: by the beginning of the namespace, which is indexed, and the whole."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.backends.postgres.arrays import TextArray
from recollect.domain.address import Address, Namespace, subtree_bounds

INDEXED = 1_000
"""How much of an encoded namespace is indexed; it is all ASCII."""
BEGINNING = f"left(namespace, {INDEXED})"
SHELF = "(CASE WHEN ended_at IS NULL THEN tenant || ' ' || plane END)"
"""Where a live version belongs, as one text: what only those searches ask for that are to go by the newest first."""


class Bound:
    """The values of a statement that is being put together."""

    def __init__(self, *values: object) -> None:
        self.values = list(values)

    def add(self, value: object) -> str:
        """Bind a value, and return how the statement names it."""
        self.values.append(value)
        return f"${len(self.values)}"


def at(first: int = 1) -> str:
    """The condition on an address, whose values begin at that number."""
    a, b, c, d, e = range(first, first + 5)
    return f"tenant = ${a} AND plane = ${b} AND {BEGINNING} = ${c} AND key = ${d} AND namespace = ${e}"


def place_of(tenant: str, address: Address) -> tuple[str, str, str, str, str]:
    """The values for the condition on an address."""
    encoded = address.namespace.encoded
    return tenant, address.plane.value, encoded[:INDEXED], address.key, encoded


def places_of(addresses: Sequence[Address]) -> tuple[TextArray, TextArray, TextArray]:
    """Planes, encoded namespaces and keys, for a statement about many addresses."""
    return (
        TextArray([address.plane.value for address in addresses]),
        TextArray([address.namespace.encoded for address in addresses]),
        TextArray([address.key for address in addresses]),
    )


def within_sql(within: Namespace, bound: Bound, table: str = "") -> str:
    """The condition that a namespace lies in a scope."""
    if not within.segments:
        return "true"
    low, high = subtree_range(within)
    column = f"{table}namespace"
    beginning = f"left({column}, {INDEXED})"
    begins = f"{beginning} >= {bound.add(low[:INDEXED])} AND {beginning} <= {bound.add(high[:INDEXED])}"
    return f"{begins} AND {column} >= {bound.add(low)} AND {column} < {bound.add(high)}"


def subtree_range(within: Namespace) -> tuple[str, str]:
    """The range of encodings at or below a namespace: between the two, no other encoding can lie."""
    return within.encoded, subtree_bounds(within.encoded)[1]


def is_long(encoded: str) -> bool:
    """True when the index does not tell this namespace from every other."""
    return len(encoded) >= INDEXED
