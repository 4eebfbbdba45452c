"""The OPA engine: asks a real OPA server by its REST API; the policies are kept there, and changed there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

import httpx
import msgspec

from recollect.domain.bundles import Bundle, Package
from recollect.domain.callers import Action, Caller
from recollect.domain.errors import PolicyTrouble, Unsupported
from recollect.ports.clock import Clock
from recollect.ports.policy import Decision, Engine, Explanation, Narrowed, Policy, Problem, Question, Report, Review
from recollect.ports.rego import (
    DENIED,
    NOW,
    Answer,
    attributes_of,
    context_of,
    decision_of,
    narrowed_of,
    review_of,
)

log = logging.getLogger("recollect.policy")
MOST_ANSWER_BYTES = 1 << 20
MOST_CONNECTIONS = 32
_JSON = {"content-type": "application/json"}


class OpaPolicy(Policy):
    """Whatever the server has in force at the moment of asking. Nothing is kept: the server may change at any time."""

    version = "opa"
    extraction = "opa"

    def __init__(self, engine: OpaEngine) -> None:
        self._engine = engine

    async def authorize(
        self, caller: Caller, action: Action, namespace: Sequence[str], key: str, value: Mapping[str, Any] | None = None
    ) -> Decision:
        """What `memories.authz` says: its `decision`, or its `allow`."""
        told: dict[str, Any] = {"operation": action, "namespace": list(namespace), "key": key}
        if value is not None:
            told["value"] = value
        said = await self._engine.ask(Package.AUTHZ, told, caller)
        if said is None:
            return DENIED
        return decision_of([said["decision"]] if "decision" in said else [said["allow"]] if "allow" in said else [])

    async def attributes(
        self, namespace: Sequence[str], key: str, value: Mapping[str, Any], attributes: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """What `memories.attributes` says; nothing when it says nothing."""
        told = {"namespace": list(namespace), "key": key, "value": value, "attributes": attributes}
        return attributes_of(_rule(await self._engine.ask(Package.ATTRIBUTES, told), "attributes"))

    async def narrow(self, caller: Caller, prefix: Sequence[str], filter: Mapping[str, Any] | None) -> Narrowed:  # noqa: A002 - the word of the API
        """What `memories.filter` says."""
        told = {"namespace_prefix": list(prefix), "filter": filter or {}}
        said = await self._engine.ask(Package.FILTER, told, caller)
        answers = [_rule(said, "namespace_prefix")]
        return narrowed_of(
            [*answers, _rule(said, "attribute_filter")] if said and "attribute_filter" in said else answers
        )

    async def review(self, caller: Caller, proposal: Mapping[str, Any]) -> Review:
        """What `memories.review` says; without a clear answer, a person decides."""
        return review_of(_rule(await self._engine.ask(Package.REVIEW, {"proposal": proposal}, caller), "decision"))


class OpaEngine(Engine):
    """One OPA server. Slow, away, or with an answer that is none: nothing is allowed."""

    manages = False

    def __init__(
        self, url: str, *, token: str | None = None, seconds: float = 1.0, clock: Clock, direct: bool = False
    ) -> None:
        self._url = url.rstrip("/")
        self._headers = {**_JSON, "authorization": f"Bearer {token}"} if token else dict(_JSON)
        self._seconds = seconds
        self._clock = clock
        limits = httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS)
        self._plain = httpx.Client(timeout=seconds, limits=limits, trust_env=False) if direct else None
        self._client = None if direct else httpx.AsyncClient(timeout=seconds, limits=limits, trust_env=False)
        self._policy = OpaPolicy(self)

    async def ask(
        self, package: Package, told: Mapping[str, Any], caller: Caller | None = None
    ) -> dict[str, Any] | None:
        """What a whole package says of an input; None when there is no such package."""
        if caller is not None:
            told = {**told, "context": {**context_of(caller), NOW: self._clock() * 1_000}}
        body = msgspec.json.encode({"input": told})
        try:
            status, answer = await self._post(f"{self._url}/v1/data/memories/{package}", body)
        except (httpx.HTTPError, TimeoutError) as problem:
            log.error("policy.opa", extra={"fields": {"package": package.value, "problem": type(problem).__name__}})
            raise PolicyTrouble("the OPA server did not answer") from None
        return self._read(package, status, answer)

    async def _post(self, url: str, body: bytes) -> tuple[int, bytes]:
        """The status and the answer, of which no more is read than an answer may have, and no longer."""
        answer = bytearray()
        if self._plain is not None:
            deadline = monotonic() + self._seconds
            with self._plain.stream("POST", url, content=body, headers=self._headers) as response:
                for piece in response.iter_bytes():
                    answer += piece
                    if monotonic() > deadline:
                        raise TimeoutError
                    if len(answer) > MOST_ANSWER_BYTES:
                        break
            return response.status_code, bytes(answer)
        if self._client is None:
            raise AssertionError("one of both is there")
        async with (
            asyncio.timeout(self._seconds),
            self._client.stream("POST", url, content=body, headers=self._headers) as response,
        ):
            async for piece in response.aiter_bytes():
                answer += piece
                if len(answer) > MOST_ANSWER_BYTES:
                    break
        return response.status_code, bytes(answer)

    def _read(self, package: Package, status: int, answer: bytes) -> dict[str, Any] | None:
        if status != 200 or len(answer) > MOST_ANSWER_BYTES:
            log.error("policy.opa", extra={"fields": {"package": package.value, "status": status}})
            raise PolicyTrouble("the OPA server gave no answer")
        try:
            said = msgspec.json.decode(answer)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise PolicyTrouble("the OPA server gave no answer")
        result = said.get("result")
        if result is None:
            return None
        if not isinstance(result, dict):
            raise PolicyTrouble(f"memories.{package} is not a package")
        return result

    async def check(self, bundle: Bundle) -> Report:
        """Bundles are given to the server itself."""
        return Report((Problem(f"policies are kept by the OPA server: give it these {len(bundle.modules)} modules"),))

    def defaults(self) -> Bundle:
        """There are no texts of it here."""
        return Bundle(())

    def packages(self, bundle: Bundle) -> tuple[Package, ...]:
        """Those that were asked for, as far as anybody here knows."""
        return tuple(Package) if not bundle.modules else ()

    async def policy(self, bundle: Bundle | None) -> OpaPolicy:
        """Always the server's; a bundle that was put in force by another engine is not passed over."""
        if bundle is not None:
            raise PolicyTrouble("a policy is in force that the OPA server does not know: roll back to version 0")
        return self._policy

    async def explain(self, bundle: Bundle | None, question: Question) -> Explanation:
        """What the server says; which of its rules say so, it tells itself."""
        if bundle is not None:
            raise Unsupported("a bundle is explained by the engine that it is for: set policy_engine = rego")
        if question.search:
            narrowed = await self._policy.narrow(question.caller, question.namespace, question.filter)
            return Explanation(Package.FILTER, "memories.filter", narrowed=narrowed)
        asked = (question.caller, question.action, question.namespace, question.key, question.value)
        return Explanation(Package.AUTHZ, "memories.authz", await self._policy.authorize(*asked))

    async def close(self) -> None:
        """Let go of the connections."""
        if self._plain is not None:
            self._plain.close()
        if self._client is not None:
            await self._client.aclose()


def _rule(said: Mapping[str, Any] | None, name: str) -> Answer:
    return [said[name]] if said is not None and name in said else []
