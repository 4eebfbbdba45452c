"""Explaining: which clauses of the rule that decided held, and what in the others did not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from recollect.backends.rego.clauses import UNDEFINED, explain_clauses, without
from recollect.backends.rego.clauses import Clause as Explained
from recollect.backends.rego.pool import Faulted
from recollect.backends.rego.source import read
from recollect.domain.bundles import Package
from recollect.domain.errors import PolicyTrouble
from recollect.ports.policy import Clause, Decision, Explanation, Narrowed, Question

if TYPE_CHECKING:
    from recollect.backends.rego.engine import RegoEngine, RegoPolicy

ROOT = "memories"
DEFAULT = "default"
"""What stands for the title of a default, which holds when nothing else does."""
MOST_RULES = 8
"""How many rules are explained at most, one below the other."""
_NAME = re.compile(r"(?:not\s+)?(?P<rule>[A-Za-z_][A-Za-z0-9_]*)")


async def explained(
    engine: RegoEngine, policy: RegoPolicy, modules: Mapping[str, str], question: Question
) -> Explanation:
    """Why a policy says what it says of a question."""
    context = policy.context(question.caller)
    if question.search:
        told = {"namespace_prefix": question.namespace, "filter": question.filter or {}, "context": context}
        narrowed = await policy.narrow(question.caller, question.namespace, question.filter)
        return await _explained(engine, modules, Package.FILTER, "namespace_prefix", told, narrowed=narrowed)
    told = {"operation": question.action, "namespace": question.namespace, "key": question.key, "context": context}
    if question.value is not None:
        told["value"] = question.value
    rule = policy.compiled.authz[0].rpartition("/")[2]
    arguments = (question.caller, question.action, question.namespace, question.key, question.value)
    try:
        decision = await policy.authorize(*arguments)
    except Faulted as fault:  # which denies; where it lies is what is to be explained
        decision = Decision(False, fault.message)
    return await _explained(engine, modules, Package.AUTHZ, rule, told, decision=decision)


async def _explained(
    engine: RegoEngine,
    modules: Mapping[str, str],
    package: Package,
    rule: str,
    told: Mapping[str, Any],
    *,
    decision: Decision | None = None,
    narrowed: Narrowed | None = None,
) -> Explanation:
    told = msgspec.to_builtins(told)
    clauses: list[Clause] = []
    waiting, seen = [rule], {rule}
    while waiting and len(seen) <= MOST_RULES:
        name = waiting.pop(0)
        clauses += await _clauses(engine, modules, package, name, told)
        # A clause that rests on another rule of the package is explained by that one.
        named = _rests_on(modules, package, name)
        waiting += [other for other in named if other not in seen]
        seen.update(named)
    return Explanation(package, f"{ROOT}.{package}.{rule}", decision, narrowed, tuple(clauses), told)


def _rests_on(modules: Mapping[str, str], package: Package, rule: str) -> list[str]:
    """The rules of a package that stand alone in the body of another, in the order of the texts."""
    sources = [source for text in modules.values() if (source := read(text)).package == (ROOT, package)]
    known = {each.name for source in sources for each in source.rules}
    bodies = [each.body for source in sources for each in source.rules if each.name == rule]
    named = [match["rule"] for body in bodies for each in body if (match := _NAME.fullmatch(each.text))]
    return [name for name in dict.fromkeys(named) if name in known]


async def _clauses(
    engine: RegoEngine, modules: Mapping[str, str], package: Package, rule: str, told: Mapping[str, Any]
) -> list[Clause]:
    found: list[Clause] = []
    entry = f"{ROOT}/{package}/{rule}"
    encoded = msgspec.json.encode(told)
    mine = {name for name, text in modules.items() if read(text).package == (ROOT, package)}
    others = {name: without(text, rule) if name in mine else text for name, text in modules.items()}
    for name in sorted(mine):
        text = modules[name]

        async def evaluate(variation: str, name: str = name) -> object:
            loadable = engine.loadable({**others, name: variation}, (entry,))
            answer = (await engine.evaluate(loadable, (entry,), encoded))[0]
            return answer[0] if answer else UNDEFINED

        try:
            explained = await explain_clauses(text, rule, evaluate)
        except PolicyTrouble:
            continue  # a rule that cannot be taken apart is still named
        found += [_clause(name, each) for each in explained]
    if any(each.held and each.title != DEFAULT for each in found):
        found = [replace(each, held=False) if each.title == DEFAULT else each for each in found]
    return found


def _clause(module: str, each: Explained) -> Clause:
    failed = each.failed
    return Clause(
        module,
        each.line,
        DEFAULT if each.default else each.title,
        each.held,
        " ".join(failed.text.split()) if failed is not None else "it cannot be told" if each.unknown else "",
        0 if failed is None else failed.line,
    )
