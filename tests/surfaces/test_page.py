"""The page that shows the contracts: complete, readable without a network, and safe whatever they say."""

from __future__ import annotations

import json
import re
import shlex
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from tests.surfaces.contracts import CONTRACT, CONTRACTS, OPERATIONS, SCHEMAS

from recollect.surfaces.rest.page import CONTENT_SECURITY_POLICY, render

HOSTILE = "</style></code><script>alert('&')</script><img src=x onerror=\"alert(1)\">`<b>`"
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Reads a page as a browser would: its elements, ids, links and the text of each block."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.misnested: list[str] = []
        self.blocks: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "pre":
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.misnested.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data
        if "pre" in self.open:
            self.blocks[-1] += data

    def values(self, name: str) -> list[str | None]:
        return [value for key, value in self.attributes if key == name]


@pytest.fixture(scope="module")
def page() -> Reader:
    return Reader(render(*CONTRACTS))


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_is_on_the_page(page: Reader, path: str, method: str, operation: dict[str, Any]) -> None:
    assert operation["operationId"] in page.values("id")
    assert f"#{operation['operationId']}" in page.values("href")
    assert operation["summary"] in page.text
    assert f"{method.upper()} {path}" in page.text


def test_every_shape_is_on_the_page_and_every_link_leads_somewhere(page: Reader) -> None:
    ids = page.values("id")
    assert {f"shape-{name}" for name in SCHEMAS} == {each for each in ids if str(each).startswith("shape-")}
    assert len(ids) == len(set(ids))
    assert {str(link).removeprefix("#") for link in page.values("href")} <= set(map(str, ids))


def test_the_page_is_well_formed(page: Reader) -> None:
    assert page.misnested == []
    assert page.open == []


def test_the_page_needs_no_script_no_network_and_no_other_file(page: Reader) -> None:
    source = render(*CONTRACTS)
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & set(page.tags)
    assert page.values("src") == page.values("style") == []
    assert all(str(link).startswith("#") for link in page.values("href"))
    assert not re.search(r"@import|url\(", source)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert CONTENT_SECURITY_POLICY == "default-src 'none'; style-src 'unsafe-inline'"


def test_the_page_follows_the_light_or_dark_of_its_reader() -> None:
    assert "color-scheme: light dark" in render(*CONTRACTS)
    assert "@media (prefers-color-scheme: dark)" in render(*CONTRACTS)


def test_rendering_the_same_contract_gives_the_same_page() -> None:
    assert render(*CONTRACTS) == render(*msgspec.json.decode(msgspec.json.encode(CONTRACTS)))


def test_both_contracts_are_told_under_their_own_names(page: Reader) -> None:
    for contract in CONTRACTS:
        for told in (
            contract["info"]["title"],
            contract["info"]["summary"],
            *(tag["name"] for tag in contract["tags"]),
        ):
            assert told.lower() in page.text.lower()
    assert page.tags.count("h1") == len(CONTRACTS)
    assert render(CONTRACT) != render(*CONTRACTS)


# -- the examples


def command_of(operation_id: str) -> list[str]:
    """The example of an operation, as a shell would split it."""
    page = render(*CONTRACTS)
    article = page[page.index(f'id="{operation_id}"') :]
    command = next(block for block in Reader(article[: article.index("</article>")]).blocks if block.startswith("curl"))
    return shlex.split(command.replace("\\\n", ""))


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_has_a_command_that_could_be_run(path: str, method: str, operation: dict[str, Any]) -> None:
    command = command_of(operation["operationId"])
    url = urlsplit(next(word for word in command if word.startswith("http://")))
    assert re.fullmatch(re.sub(r"\{[a-z]+\}", "[^/{}]+", path), url.path)
    assert (command[2] == method.upper()) if "-X" in command else method == "get"
    public = operation.get("security") == []
    assert ("Authorization: Bearer $RECOLLECT_TOKEN" in command) is not public
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]
        assert json.loads(command[command.index("-d") + 1]) == body["example"]


def test_repeated_parameters_are_repeated_in_the_command() -> None:
    url = urlsplit(next(word for word in command_of("getMemory") if word.startswith("http://")))
    assert parse_qs(url.query) == {"ns": ["user", "alice", "notes"], "key": ["coffee"]}


# -- hostile text


def poisoned(node: Any) -> Any:
    """A contract with hostile text wherever it speaks to people, in its examples and in its names."""
    if isinstance(node, dict):
        changed = {name: poisoned(value) for name, value in node.items()}
        for name in ("summary", "description", "title", "pattern", "format", "default"):
            if isinstance(changed.get(name), str):
                changed[name] = HOSTILE
        if "example" in changed:
            changed["example"] = {"text": HOSTILE} if isinstance(changed["example"], dict) else HOSTILE
        if isinstance(changed.get("name"), str) and "in" in changed:
            changed["name"] = HOSTILE
        if isinstance(changed.get("properties"), dict):
            changed["properties"] = {**changed["properties"], HOSTILE: {"enum": [HOSTILE], "const": HOSTILE}}
        if isinstance(changed.get("content"), dict):
            changed["content"] = {**changed["content"], HOSTILE: {"schema": {"type": HOSTILE}, "example": HOSTILE}}
        return changed
    return [poisoned(each) for each in node] if isinstance(node, list) else node


def test_hostile_text_stays_text() -> None:
    poison, other = map(poisoned, CONTRACTS)
    poison["tags"].append({"name": HOSTILE, "description": HOSTILE})
    poison["components"]["schemas"][HOSTILE] = {"description": HOSTILE, "type": "string"}
    poison["paths"]["/" + HOSTILE] = {
        "get": {"operationId": HOSTILE, "tags": [HOSTILE], "responses": {HOSTILE: {"headers": {HOSTILE: {}}}}}
    }
    page = Reader(render(poison, other))
    assert not {"script", "img", "b"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.misnested == []
    assert page.open == []
    assert page.text.count("alert(1)") > 100


def test_text_that_is_not_escaped_is_caught() -> None:
    page = Reader(render(*CONTRACTS).replace("Remember a value under a key", HOSTILE))
    assert "script" in page.tags
    assert page.misnested
