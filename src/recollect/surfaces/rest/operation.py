"""What operators and machines ask the REST door: is it alive, is it ready, how is it doing, what does it promise."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from pathlib import Path

from yaml import safe_load

from recollect.surfaces.metrics import CONTENT_TYPE
from recollect.surfaces.rest.exchange import Answer, Exchange, answer
from recollect.surfaces.rest.page import CONTENT_SECURITY_POLICY, render

CONTRACT, CONTRACT_FOR_ADMINISTRATORS = "openapi.yaml", "openapi-admin.yaml"
_PACKAGED = Path(__file__).parent
_IN_REPOSITORY = Path(__file__).parents[4] / "contracts"


async def healthz(ask: Exchange) -> Answer:
    """The process answers."""
    ask.no_parameters()
    return answer({"status": "ok"})


async def readyz(ask: Exchange) -> Answer:
    """The store answers, and the service is not about to stop."""
    ask.no_parameters()
    return answer({"status": "ready"}) if await ask.service.ready() else answer({"status": "not_ready"}, 503)


async def metrics(ask: Exchange) -> Answer:
    """Counters for Prometheus."""
    ask.no_parameters()
    return Answer(200, ask.service.metrics.render(), CONTENT_TYPE.encode())


async def docs(ask: Exchange) -> Answer:
    """Both contracts as one page."""
    ask.no_parameters()
    headers = ((b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),)
    return Answer(200, await asyncio.to_thread(_page), b"text/html; charset=utf-8", headers)


async def openapi(ask: Exchange) -> Answer:
    """The contract itself."""
    ask.no_parameters()
    return Answer(200, contract(CONTRACT), b"application/yaml")


async def openapi_admin(ask: Exchange) -> Answer:
    """The contract of the administrator's part."""
    ask.no_parameters()
    return Answer(200, contract(CONTRACT_FOR_ADMINISTRATORS), b"application/yaml")


@lru_cache(maxsize=2)
def contract(name: str) -> bytes:
    """The text of a contract, from the package or from the repository."""
    packaged = _PACKAGED / name
    return (packaged if packaged.exists() else _IN_REPOSITORY / name).read_bytes()


@lru_cache(maxsize=1)
def _page() -> bytes:
    return render(*(safe_load(contract(name)) for name in (CONTRACT, CONTRACT_FOR_ADMINISTRATORS))).encode()
