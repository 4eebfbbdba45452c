"""The Rego engine: compiles bundles, asks them in a sandbox, and remembers what it was told."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import msgspec

from recollect.backends.rego.builtins import ALLOWED, refusal
from recollect.backends.rego.explaining import explained
from recollect.backends.rego.inputs import Telling, merged, raw
from recollect.backends.rego.plan import Plan
from recollect.backends.rego.pool import Loadable, Pool
from recollect.backends.rego.sandboxed import STEP
from recollect.backends.rego.source import read
from recollect.backends.rego.strictness import flaws, text_flaws
from recollect.backends.rego.texts import inside, replaceable, unusable_in
from recollect.domain.bundles import Bundle, Package
from recollect.domain.callers import Action, Caller
from recollect.domain.errors import PolicyTrouble
from recollect.ports.clock import Clock
from recollect.ports.policy import (
    Check,
    Decision,
    Engine,
    Explanation,
    Narrowed,
    Overrun,
    Policy,
    Problem,
    Question,
    Report,
    Review,
)
from recollect.ports.rego import attributes_of, context_of, decision_of, narrowed_of, review_of

log = logging.getLogger("recollect.policy")
Result = TypeVar("Result")
ROOT = "memories"
MOST_REMEMBERED = 50_000
"""How many decisions of one bundle are kept."""
MOST_TOLD = 4_096
"""How many bytes an input may have for its answer to be kept."""
MOST_COMPILED = 64
MOST_PROBLEMS = 100
TEST_SECONDS = 5.0
"""How long all tests of a bundle may compute; those that are left then have failed."""
RECOVERED_SECONDS = 10.0
"""How long a bundle must keep within its limits until its overruns are forgotten."""
BUILT_IN = "(built-in)"
"""Where the built-in modules stand beside those of a bundle; no module of a bundle can have such a name."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A bundle that was found sound: what is loaded, what is asked, and on what the answers depend."""

    loadable: Loadable
    plan: Plan
    authz: tuple[str, ...]
    filter: tuple[str, ...]
    extraction: str


@dataclass(slots=True)
class Composed:
    """The modules that decide, those of the built-in bundle among them."""

    modules: dict[str, str]
    packages: tuple[Package, ...]
    authz: str
    """The rule of that package which is asked."""
    has_filter: bool
    problems: list[Problem]
    foreign: bool
    """Whether it is another bundle than the built-in one."""
    tests: list[str]
    test_modules: frozenset[str]


class Flawed(PolicyTrouble):
    """The policy gave no usable answer, so nothing was allowed: correct the policy."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(
            "; ".join(problem.message for problem in problems[:MOST_PROBLEMS]) or "the policy cannot be compiled"
        )
        self.problems = tuple(problems)[:MOST_PROBLEMS]


class RegoEngine(Engine):
    """Rego in processes of its own. Compiled bundles are shared by all tenants that have the same."""

    def __init__(
        self,
        defaults: Bundle,
        *,
        clock: Clock,
        processes: int = 1,
        facts: Mapping[str, Any] | None = None,
        direct: bool = False,
    ) -> None:
        self._defaults = defaults
        self._clock = clock
        self._direct = direct
        self._pool = Pool(processes)
        self._facts: Mapping[str, Any] = facts or {}
        self._policies: OrderedDict[str, RegoPolicy] = OrderedDict()

    @property
    def pool(self) -> Pool:
        """The processes that evaluate."""
        return self._pool

    def counts(self) -> tuple[int, int]:
        """How many evaluations there were so far, and how many of them ended their process."""
        return self._pool.evaluated, self._pool.restarts

    def now_ns(self) -> int:
        """The present moment, as policies are told."""
        return self._clock() * 1_000

    async def configure(self, facts: Mapping[str, Any]) -> None:
        """What policies find below `data.recollect`."""
        self._facts = facts

    async def check(self, bundle: Bundle) -> Report:
        """Compile a bundle, look for what it must not contain, and run its tests."""
        composed = await self._run(lambda: self._composed(bundle, tests=True))
        if composed.problems:
            return Report(tuple(composed.problems), packages=composed.packages)
        problems = list(_problems(await _outcome(self.policy(bundle))))
        tested = await _outcome(self._run(lambda: self._compile(composed))) if composed.test_modules else None
        problems += [each for each in _problems(tested) if not problems or each.module in composed.test_modules]
        if problems or not isinstance(tested, Compiled):
            return Report(tuple(problems), packages=composed.packages)
        return Report((), tuple(await self._tests(tested.loadable, composed.tests)), composed.packages)

    async def policy(self, bundle: Bundle | None) -> RegoPolicy:
        """The bundle ready to decide; compiled once, however many tenants have it."""
        key = _name(bundle or self._defaults, self._facts)
        known = self._policies.get(key)
        if known is None:
            composed = await self._run(lambda: self._composed(bundle or self._defaults))
            if composed.problems:
                raise Flawed(composed.problems)
            compiled = await self._run(lambda: self._compile(composed))
            known = self._policies.setdefault(key, RegoPolicy(self, compiled))
            while len(self._policies) > MOST_COMPILED:
                self._policies.popitem(last=False)
        self._policies.move_to_end(key)
        return known

    async def baseline(self) -> str:
        """That of the built-in bundle, with the settings as they come."""
        compiled = (await self.policy(None)).compiled
        return _extraction(compiled.plan, compiled.loadable.modules, _data({}))

    async def explain(self, bundle: Bundle | None, question: Question) -> Explanation:
        """Why the bundle says what it says: every clause of the rule that decides, and what in it did not hold."""
        policy = await self.policy(bundle)
        modules = self._composed(bundle or self._defaults).modules
        return await explained(self, policy, modules, question)

    async def close(self) -> None:
        """End the processes."""
        await self._run(self._pool.close)

    async def evaluate(self, loadable: Loadable, entries: tuple[str, ...], told: bytes) -> list[list[Any]]:
        """What rules say of an input, each as a list with a value or none."""
        return await self._answer(self._pool.ask(loadable, entries, told))

    async def _answer(self, coming: Future[Result]) -> Result:
        return coming.result() if self._direct else await asyncio.shield(asyncio.wrap_future(coming))

    def loadable(self, modules: Mapping[str, str], entries: Sequence[str]) -> Loadable:
        """Texts as the engine can take them, under a name of their own."""
        texts = {name: inside(text) for name, text in modules.items()}
        data = _data(self._facts)
        said = msgspec.json.encode((texts, data, entries), order="deterministic")
        return Loadable(sha256(said).hexdigest(), texts, data, tuple(entries))

    async def _tests(self, loadable: Loadable, entries: Sequence[str]) -> list[Check]:
        """Run tests until one overruns, or all of them together do; a busy machine is no reason to fail one."""
        checks: list[Check] = []
        computed = 0.0
        overran = False
        for entry in entries:
            name = entry.replace("/", ".")
            if overran or computed > TEST_SECONDS:
                checks.append(Check(name, False, "it was not run: the tests before it took too long"))
                continue
            try:
                found, seconds = await self._answer(self._pool.trial(loadable, entry))
                computed += seconds
                checks.append(Check(name, found == [True]))
            except PolicyTrouble as trouble:
                overran = isinstance(trouble, Overrun)
                checks.append(Check(name, False, trouble.message))
        return checks

    async def _run(self, work: Callable[[], Result]) -> Result:
        return work() if self._direct else await asyncio.get_running_loop().run_in_executor(None, work)

    def defaults(self) -> Bundle:
        """The built-in bundle."""
        return self._defaults

    def packages(self, bundle: Bundle) -> tuple[Package, ...]:
        """Which of the packages that Recollect asks a bundle has itself."""
        own = {_read(text).package for _, text in bundle.policies}
        return tuple(each for each in Package if (ROOT, each) in own)

    def _composed(self, bundle: Bundle, *, tests: bool = False) -> Composed:
        """The bundle's modules, and the built-in ones for packages that it lacks."""
        problems: list[Problem] = []
        for name, text in bundle.modules:
            if flaw := unusable_in(text):
                problems.append(Problem(f"the text {flaw}", name))
            if not _read(text).package:
                problems.append(Problem("a module begins with its package", name))
        modules = dict(bundle.modules if tests else bundle.policies)
        own = {_read(text).package for _, text in bundle.policies}
        modules |= {
            f"{BUILT_IN}/{name}": text for name, text in self._defaults.policies if _read(text).package not in own
        }
        authz, filters = _rules(modules, Package.AUTHZ), _rules(modules, Package.FILTER)
        entry = "decision" if "decision" in authz else "allow"
        names = [
            "/".join((*source.package, rule))
            for source in (_read(text) for _, text in bundle.modules)
            for rule in sorted({rule.name for rule in source.rules})
            if tests and rule.startswith("test_")
        ]
        return Composed(
            modules,
            self.packages(bundle),
            entry,
            "attribute_filter" in filters,
            problems,
            bundle is not self._defaults,
            names,
            frozenset(name for name, _ in bundle.tests) if tests else frozenset(),
        )

    def _compile(self, composed: Composed) -> Compiled:
        """Have the texts compiled, and read what came of it. Blocks."""
        authz = (f"{ROOT}/authz/{composed.authz}",)
        filters: tuple[str, ...] = (f"{ROOT}/filter/namespace_prefix",)
        if composed.has_filter:
            filters += (f"{ROOT}/filter/attribute_filter",)
        entries = (*authz, *filters, f"{ROOT}/attributes/attributes", f"{ROOT}/review/decision", *composed.tests)
        texts = composed.modules
        if composed.test_modules:
            texts = {name: replaceable(text) for name, text in texts.items()}
        loadable = self.loadable(texts, entries)
        known = _compiled.get(loadable.id)
        if known is not None:
            return known
        problems = [
            Problem(flaw.message, flaw.place.module, flaw.place.line)
            for flaw in text_flaws(composed.modules, composed.test_modules)
        ]
        if problems:  # some of it would break the engine
            raise Flawed(problems)
        folder = tempfile.mkdtemp(prefix="recollect-policy-")
        try:
            answer = self._pool.load(loadable, folder, apart=composed.foreign).result()
            if "loaded" not in answer:
                raise Flawed(_complaints(answer, loadable.modules))
            plan = Plan(json.loads((Path(folder) / "plan.json").read_bytes()))
        except RecursionError:
            raise Flawed([Problem("it is nested too deeply: give parts of it names of their own")]) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        problems = [Problem(flaw.message, flaw.place.module, flaw.place.line) for flaw in flaws(plan)]
        for name in sorted(plan.builtins.keys() - ALLOWED):
            place = plan.calls(name)
            problems.append(Problem(refusal(name), place.module, place.line))
        if "context" in plan.uses(_ATTRIBUTES[0]):
            problems.append(
                Problem(
                    "memories.attributes must not use input.context: attributes are computed again without a caller"
                )
            )
        if problems:
            raise Flawed(problems)
        compiled = Compiled(loadable, plan, authz, filters, _extraction(plan, loadable.modules, loadable.data))
        if len(_compiled) >= MOST_COMPILED:
            _compiled.pop(next(iter(_compiled)), None)
        _compiled[loadable.id] = compiled
        return compiled


_compiled: dict[str, Compiled] = {}
"""What this process has compiled before, and found sound; by exactly what was compiled."""
_ATTRIBUTES = (f"{ROOT}/attributes/attributes",)
_REVIEW = (f"{ROOT}/review/decision",)


class RegoPolicy(Policy):
    """A compiled bundle. Answers are kept by exactly that part of the input on which they can depend."""

    def __init__(self, engine: RegoEngine, compiled: Compiled) -> None:
        self._engine = engine
        self.compiled = compiled
        self.version = compiled.loadable.id
        self.extraction = compiled.extraction
        now = engine.now_ns
        self._authz = Telling(compiled.plan.uses(compiled.authz[0]), now)
        self._attributes = Telling(compiled.plan.uses(_ATTRIBUTES[0]), now)
        self._filter = Telling(merged([compiled.plan.uses(entry) for entry in compiled.filter]), now)
        self._review = Telling(compiled.plan.uses(_REVIEW[0]), now)
        self._decisions: dict[object, Decision] = {}
        self._reviews: dict[object, Review] = {}
        self._extracted: dict[object, Mapping[str, Any]] = {}
        self._narrowed: dict[object, Narrowed] = {}
        self._answered = False
        self._overruns = 0
        self._resting_until = 0.0

    async def authorize(
        self, caller: Caller, action: Action, namespace: Sequence[str], key: str, value: Mapping[str, Any] | None = None
    ) -> Decision:
        """What `memories.authz` says."""
        telling = self._authz
        context = telling.caller(caller)
        operation, path = telling.text("operation", action), telling.path("namespace", namespace)
        name, contents = telling.text("key", key), None if value is None else telling.object("value", value)
        question = (context, operation, path, name, contents)
        known = self._decisions.get(question)
        if known is not None:
            return known
        told = telling.encoded(context, operation=operation, namespace=path, key=name, value=raw(contents))
        found = await self._ask(self.compiled.authz, told)
        decision = decision_of(found[0])
        if telling.timeless and len(told) < MOST_TOLD:
            _keep(self._decisions, question, decision)
        return decision

    async def attributes(
        self, namespace: Sequence[str], key: str, value: Mapping[str, Any], attributes: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """What `memories.attributes` says; nothing when it says nothing."""
        telling = self._attributes
        path, name = telling.path("namespace", namespace), telling.text("key", key)
        contents = telling.object("value", value)
        given = None if attributes is None else telling.object("attributes", attributes)
        question = (path, name, contents, given)
        known = self._extracted.get(question)
        if known is not None:
            return known
        told = telling.encoded(b"", namespace=path, key=name, value=raw(contents), attributes=raw(given))
        found = (await self._ask(_ATTRIBUTES, told))[0]
        extracted = attributes_of(found)
        if len(told) < MOST_TOLD:
            _keep(self._extracted, question, extracted)
        return extracted

    async def narrow(self, caller: Caller, prefix: Sequence[str], filter: Mapping[str, Any] | None) -> Narrowed:  # noqa: A002 - the word of the API
        """What `memories.filter` says."""
        telling = self._filter
        context, path = telling.caller(caller), telling.path("namespace_prefix", prefix)
        asked = telling.object("filter", filter or {})
        # Mostly the answer holds the whole prefix, so it is part of the question in any case.
        question = (context, path, asked)
        known = self._narrowed.get(question)
        if known is not None:
            return known
        told = telling.encoded(context, namespace_prefix=path, filter=raw(asked))
        narrowed = narrowed_of(await self._ask(self.compiled.filter, told))
        if telling.timeless and len(told) < MOST_TOLD:
            _keep(self._narrowed, question, narrowed)
        return narrowed

    async def review(self, caller: Caller, proposal: Mapping[str, Any]) -> Review:
        """What `memories.review` says; without a clear answer, a person decides."""
        telling = self._review
        context, asked = telling.caller(caller), telling.object("proposal", proposal)
        question = (context, asked)
        known = self._reviews.get(question)
        if known is not None:
            return known
        told = telling.encoded(context, proposal=raw(asked))
        review = review_of((await self._ask(_REVIEW, told))[0])
        if telling.timeless and len(told) < MOST_TOLD:
            _keep(self._reviews, question, review)
        return review

    def context(self, caller: Caller) -> dict[str, Any]:
        """What a policy is told of a caller, the time included."""
        return {**context_of(caller), "now_ns": self._engine.now_ns()}

    async def _ask(self, entries: tuple[str, ...], told: bytes) -> list[list[Any]]:
        """Ask, unless the bundle overran its time a moment ago: then others are not kept waiting by it.

        One that has answered before and never overran is asked a second time: it is the machine that hiccups.
        """
        if self._overruns and monotonic() < self._resting_until:
            raise Overrun("the policy took too long a moment ago")
        try:
            try:
                found = await self._engine.evaluate(self.compiled.loadable, entries, told)
            except Overrun:
                if self._overruns or not self._answered:
                    raise
                found = await self._engine.evaluate(self.compiled.loadable, entries, told)
        except Overrun:
            self._overruns += 1
            self._resting_until = monotonic() + min(0.05 * 2 ** min(self._overruns, 16), 30.0)
            raise
        self._answered = True
        if self._overruns and monotonic() > self._resting_until + RECOVERED_SECONDS:
            self._overruns = 0
        return found


def _data(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What policies find below `data`."""
    return {"recollect": {"filterable_attributes": [], **facts}}


def _extraction(plan: Plan, modules: Mapping[str, str], data: Mapping[str, Any]) -> str:
    """What names the extraction of attributes: the texts that it may use, by whatever name, and the data."""
    texts = sorted(modules[name] for name in plan.modules(_ATTRIBUTES[0]) if name in modules)
    return sha256(msgspec.json.encode((texts, data), order="deterministic")).hexdigest()


_read = lru_cache(maxsize=256)(read)


def _rules(modules: Mapping[str, str], package: Package) -> set[str]:
    """The names of all rules of a package."""
    sources = [_read(text) for text in modules.values()]
    return {rule.name for source in sources if source.package == (ROOT, package) for rule in source.rules}


def _name(bundle: Bundle, facts: Mapping[str, Any]) -> str:
    return f"{bundle.digest}:{sha256(msgspec.json.encode(facts, order='deterministic')).hexdigest()}"


def _keep(shelf: dict[object, Result], question: object, answer: Result) -> None:
    if len(shelf) >= MOST_REMEMBERED:
        shelf.clear()
    shelf[question] = answer


async def _outcome(work: Awaitable[Result]) -> Result | PolicyTrouble:
    try:
        return await work
    except PolicyTrouble as trouble:
        return trouble


def _problems(outcome: object) -> tuple[Problem, ...]:
    """What there is to say against a bundle, after it was compiled or could not be."""
    if isinstance(outcome, Flawed):
        return outcome.problems
    if isinstance(outcome, PolicyTrouble):
        return (Problem(f"it could not be compiled: {outcome.message}"),)
    return ()


def _complaints(answer: Mapping[str, Any], modules: Mapping[str, str]) -> list[Problem]:
    """What the compiler says against a bundle, each with its place."""
    problems: list[Problem] = []
    for each in answer.get("problems", ()):
        module, error = str(each.get("module", "")), str(each.get("error", ""))
        found = list(_COMPLAINT.finditer(error))
        for one in found:
            file = one["file"].replace(STEP, "/")
            text = modules.get(file, "")
            line = text.count("\n", 0, int(one["offset"])) + 1 if text else 0
            problems.append(Problem(" ".join(one["message"].split()), file or module, line))
        if not found:
            problems.append(Problem(" ".join(error.split())[:500] or "it cannot be compiled", module))
    fault = answer.get("fault", "the engine gave no reason")
    return list(dict.fromkeys(problems)) or [Problem(f"it cannot be compiled: {fault}")]


_COMPLAINT = re.compile(
    r"\(error\s+\d+:(?P<file>[^|]*)\|(?P<offset>\d+)\|\d+\s+\(errormsg\s+\d+:(?P<message>[^()]*(?:\([^()]*\)[^()]*)*)\)"
)
