"""The public contracts as one readable HTML page, which needs no script, no network and no other file."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote, urlencode

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may do with the page: show it, with the style that it carries."""

_METHODS = ("get", "put", "post", "patch", "delete", "head", "options", "trace")
_LIMITS = {
    "minLength": "{} or more characters",
    "maxLength": "at most {} characters",
    "minItems": "{} or more elements",
    "maxItems": "at most {} elements",
    "minProperties": "{} or more members",
    "maxProperties": "at most {} members",
    "minimum": "from {}",
    "maximum": "up to {}",
    "default": "by default {}",
}
_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #57606a; --line: #d8dee4; --back: #fff; --shade: #f6f8fa;
  --link: #0b57a4; --mark: #6b3fa0 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #9aa4af; --line: #333b44; --back: #14171a;
  --shade: #1d2126; --link: #7ab8ff; --mark: #c3a3f0 } }
* { box-sizing: border-box }
body { margin: 0; color: var(--ink); background: var(--back); font: 16px/1.55 system-ui, sans-serif }
a { color: var(--link); text-decoration: none } a:hover, a:focus { text-decoration: underline }
nav { padding: 1.5rem; border-bottom: 1px solid var(--line); font-size: .9rem }
nav ul { list-style: none; margin: .2rem 0 1rem; padding: 0 }
main { padding: 1.5rem; max-width: 60rem; min-width: 0 }
@media (min-width: 62rem) { body { display: grid; grid-template-columns: 19rem minmax(0, 1fr) }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-bottom: 0;
    border-right: 1px solid var(--line) }
  main { padding: 1.5rem 3rem } }
h1 { margin: 0 } section + section > h1 { margin-top: 5rem }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) } h3 { margin: 2.5rem 0 .3rem }
h4 { margin: 1.2rem 0 .3rem; color: var(--soft); font-size: .9rem } p { margin: .5rem 0 }
code, pre { font: .88em/1.5 ui-monospace, monospace } code { overflow-wrap: anywhere }
pre { padding: .8rem 1rem; background: var(--shade); border: 1px solid var(--line); border-radius: 6px;
  overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-size: .92rem }
th, td { padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { font-weight: 600 } small { color: var(--soft) } .method { color: var(--mark); font-weight: 600 }
"""


class Html(str):
    """Text that is HTML already; all other text is escaped where it is put into the page."""

    __slots__ = ()


def render(*contracts: Mapping[str, Any]) -> str:
    """The page that shows these contracts one after the other, each given as the parsed OpenAPI document.

    What they have in common is shown once: shapes of the same name are the same.
    """
    title = contracts[0]["info"]["title"]
    main = _element("main", *map(_part, contracts), _shapes(contracts))
    head = _element(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        _element("title", f"{title} API"),
        _element("style", Html(_STYLE)),
    )
    return "<!doctype html>\n" + _element("html", head, _element("body", _contents(contracts), main), lang="en")


# -- the parts of the page


def _contents(contracts: Sequence[Mapping[str, Any]]) -> Html:
    parts = []
    for contract in contracts:
        parts.append(_element("p", _link(_anchor(contract), contract["info"]["title"])))
        for tag in contract.get("tags", ()):
            links = [
                _element("li", _link(operation["operationId"], operation.get("summary", operation["operationId"])))
                for _, _, operation in _operations(contract)
                if tag["name"] in operation.get("tags", ())
            ]
            parts += [_link(f"tag-{tag['name']}", tag["name"].capitalize()), _element("ul", *links)]
    return _element("nav", *parts, _link("shapes", "Shapes"))


def _part(contract: Mapping[str, Any]) -> Html:
    info = contract["info"]
    return _element(
        "section",
        _element("h1", info["title"], id=_anchor(contract)),
        _element("p", info.get("summary", ""), " ", _element("small", f"Version {info['version']}")),
        _prose(info.get("description", "")),
        *(_chapter(contract, tag) for tag in contract.get("tags", ())),
    )


def _chapter(contract: Mapping[str, Any], tag: Mapping[str, Any]) -> Html:
    return _element(
        "section",
        _element("h2", tag["name"].capitalize(), id=f"tag-{tag['name']}"),
        _prose(tag.get("description", "")),
        *(
            _operation(contract, path, method, operation)
            for path, method, operation in _operations(contract)
            if tag["name"] in operation.get("tags", ())
        ),
    )


def _operation(contract: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> Html:
    return _element(
        "article",
        _element("h3", operation.get("summary", ""), id=operation["operationId"]),
        _element("p", _element("code", _element("span", method.upper(), class_="method"), f" {path}")),
        _prose(operation.get("description", "")),
        _parameters(contract, operation),
        _body(contract, operation),
        _answers(contract, operation),
        _element("h4", "Example"),
        _element("pre", _element("code", _curl(contract, path, method, operation))),
        _answered(contract, operation),
    )


def _parameters(contract: Mapping[str, Any], operation: Mapping[str, Any]) -> Html:
    rows = [
        (
            _element("code", each["name"]),
            each["in"] + (", required" if each.get("required") else ""),
            _kind(each.get("schema", {})),
            _about(contract, each.get("schema", {}), each.get("description")),
        )
        for each in _parameters_of(contract, operation)
    ]
    return _table("Parameters", ("name", "where", "type", "meaning"), rows)


def _body(contract: Mapping[str, Any], operation: Mapping[str, Any]) -> Html:
    content = _resolved(contract, operation.get("requestBody", {})).get("content", {})
    return _joined(
        "",
        [
            part
            for media, body in content.items()
            for part in (
                _element("h4", "Body ", _element("small", media)),
                _shape(contract, _resolved(contract, body["schema"])),
            )
        ],
    )


def _answers(contract: Mapping[str, Any], operation: Mapping[str, Any]) -> Html:
    rows = []
    for status, written in operation.get("responses", {}).items():
        answer = _resolved(contract, written)
        content = answer.get("content", {})
        kinds = [
            part
            for media, body in content.items()
            for part in (_kind(body.get("schema", {})), " ", _element("small", media), _element("br"))
        ]
        headers = ", ".join(answer.get("headers", {}))
        rows.append(
            (_element("code", status), _element("span", *kinds), _marked(answer.get("description", "")), headers)
        )
    return _table("Answers", ("status", "body", "meaning", "headers"), rows)


def _answered(contract: Mapping[str, Any], operation: Mapping[str, Any]) -> Html:
    for status, written in operation.get("responses", {}).items():
        for body in _resolved(contract, written).get("content", {}).values():
            if status.startswith("2") and "example" in body:
                return _element("pre", _element("code", _json(body["example"])))
    return Html("")


def _shapes(contracts: Sequence[Mapping[str, Any]]) -> Html:
    homes = {name: each for each in reversed(contracts) for name in each.get("components", {}).get("schemas", {})}
    articles = []
    for name in sorted(homes):
        schema = homes[name]["components"]["schemas"][name]
        told = _prose(schema.get("description", "")), _shape(homes[name], schema)
        articles.append(_element("article", _element("h3", name, id=f"shape-{name}"), *told))
    return _element("section", _element("h2", "Shapes", id="shapes"), *articles)


def _shape(contract: Mapping[str, Any], schema: Mapping[str, Any]) -> Html:
    """A table of the members of an object; one line for everything else."""
    if not schema.get("properties"):
        return _element("p", _kind(schema), " ", _about(contract, {**schema, "description": ""}))
    required = schema.get("required", ())
    rows = [
        (
            _element("code", name),
            "required" if name in required else "",
            _kind(member),
            _about(contract, member),
        )
        for name, member in schema["properties"].items()
    ]
    return _table("", ("name", "", "type", "meaning"), rows)


# -- how a schema is told


def _kind(schema: Mapping[str, Any]) -> Html:
    """What something is, in a few words, with links to the shapes that have names."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _link(f"shape-{name}", name)
    for words in ("oneOf", "anyOf"):
        if words in schema:
            return _joined(" or ", [_kind(choice) for choice in schema[words]])
    if "const" in schema:
        return _element("code", _json(schema["const"]))
    if schema.get("type") == "array" and "items" in schema:
        return _joined("", ["list of ", _kind(schema["items"])])
    if "enum" in schema:
        return _joined(", ", [_element("code", _json(choice)) for choice in schema["enum"]])
    kinds = schema.get("type", "anything")
    told = kinds if isinstance(kinds, str) else " or ".join(kinds)
    return _joined("", [told, f" ({schema['format']})" if "format" in schema else ""])


def _about(contract: Mapping[str, Any], schema: Mapping[str, Any], description: str | None = None) -> Html:
    """What something means, and its limits; both of the shape it points to, unless it says its own."""
    whole = _resolved(contract, schema)
    told = description if description is not None else whole.get("description", "")
    limits = [words.format(_json(whole[name])) for name, words in _LIMITS.items() if name in whole]
    if "pattern" in whole:
        limits.append(f"matches {whole['pattern']}")
    return _element("span", _marked(told), " ", _element("small", "; ".join(limits)) if limits else "")


# -- the example


def _curl(contract: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> str:
    """A command that can be pasted into a shell, made from the examples of the contract."""
    query: list[tuple[str, str]] = []
    headers: list[str] = []
    for each in _parameters_of(contract, operation):
        if "example" not in each:
            continue
        given = each["example"] if isinstance(each["example"], list) else [each["example"]]
        if each["in"] == "path":
            path = path.replace("{" + each["name"] + "}", quote(str(given[0]), safe=""))
        elif each["in"] == "query":
            query += [(each["name"], str(value)) for value in given]
        elif each["in"] == "header":
            headers.append(f"{each['name']}: {given[0]}")
    url = contract["servers"][0]["url"] + path + ("?" + urlencode(query) if query else "")
    lines = [f"curl {shlex.quote(url)}" if method == "get" else f"curl -X {method.upper()} {shlex.quote(url)}"]
    if operation.get("security", contract.get("security", ())):
        lines.append('-H "Authorization: Bearer $RECOLLECT_TOKEN"')
    lines += [f"-H {shlex.quote(header)}" for header in headers]
    for media, body in _resolved(contract, operation.get("requestBody", {})).get("content", {}).items():
        if "example" in body:
            lines += [f"-H {shlex.quote(f'Content-Type: {media}')}", f"-d {shlex.quote(_json(body['example']))}"]
    answer = _resolved(contract, operation.get("responses", {}).get("200", {}))
    if "application/octet-stream" in answer.get("content", {}):
        lines.append(f"-o {shlex.quote(operation['operationId'])}")
    return " \\\n  ".join(lines)


# -- reading the contract


def _anchor(contract: Mapping[str, Any]) -> str:
    return "part-" + re.sub(r"[^a-z0-9]+", "-", contract["info"]["title"].lower())


def _operations(contract: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in contract["paths"].items():
        for method in methods:
            if method in _METHODS:
                yield path, method, methods[method]


def _parameters_of(contract: Mapping[str, Any], operation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [_resolved(contract, each) for each in operation.get("parameters", ())]


def _resolved(contract: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """The node itself, or the one of this document that it points to, with what it adds to it."""
    if "$ref" not in node:
        return node
    found: Any = contract
    for step in node["$ref"].removeprefix("#/").split("/"):
        found = found[step.replace("~1", "/").replace("~0", "~")]
    own = {name: value for name, value in node.items() if name != "$ref"}
    return {**_resolved(contract, found), **own}


# -- writing HTML


def _element(name: str, *inside: str, **attributes: str) -> Html:
    told = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    if name == "br":
        return Html(f"<{name}{told}>")
    return Html(f"<{name}{told}>{_joined('', inside)}</{name}>")


def _joined(between: str, parts: Iterable[str]) -> Html:
    return Html(between.join(part if isinstance(part, Html) else escape(part) for part in parts))


def _link(anchor: str, text: str) -> Html:
    return _element("a", text, href="#" + quote(anchor, safe=""))


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Html:
    if not rows:
        return Html("")
    head = _element("thead", _element("tr", *(_element("th", column, scope="col") for column in columns)))
    body = _element("tbody", *(_element("tr", *(_element("td", cell) for cell in row)) for row in rows))
    return _joined("", [_element("h4", title) if title else "", _element("table", head, body)])


def _prose(text: str) -> Html:
    return _joined("", [_element("p", _marked(part)) for part in text.strip().split("\n\n") if part.strip()])


def _marked(text: str) -> Html:
    """Prose with its `code` set apart."""
    parts = re.split(r"`([^`]+)`", text)
    return _joined("", [_element("code", part) if place % 2 else part for place, part in enumerate(parts)])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, dict) and value else json.dumps(value)
