"""What a module of Rego says: its package, its imports, and every clause of its rules with its place in the text."""

from __future__ import annotations

import json
from dataclasses import dataclass

from recollect.backends.rego.lexer import Kind, Token, tokens_of
from recollect.backends.rego.titles import Titles

Span = tuple[int, int]
"""Where something starts and ends in the text."""
MOST_PROBLEMS = 100
_MOST_SHOWN = 40
_RESERVED = frozenset({"as", "default", "else", "import", "not", "package", "some", "with"})
_NEVER_NAMES = _RESERVED | {"true", "false", "null"}
_INFIX = frozenset({"==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&", "|"})
_ASSIGN = frozenset({"=", ":="})
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_WRITTEN = (Kind.NAME, Kind.OPERATOR, Kind.OPEN)
_LOGICAL = frozenset({"and", "or"})
_TEST_NAMES = ("test_", "todo_test_")


@dataclass(frozen=True, slots=True)
class Expression:
    """A part of a clause that has a value: an expression of its body, or what its head gives."""

    text: str
    span: Span
    line: int


@dataclass(frozen=True, slots=True)
class Import:
    """What a module takes from elsewhere."""

    path: tuple[str, ...]
    alias: str
    line: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One clause of a rule: a head with its body, and whatever is chained to it by `else` or a further body."""

    name: str
    """The first name of its head."""
    ref: str
    """The whole reference of its head, as it is written."""
    line: int
    column: int
    span: Span
    head: Span
    """From the name to the value, without `default`, `if` and the body."""
    title: str = ""
    default: bool = False
    is_function: bool = False
    value: Expression | None = None
    """What the head gives, if it says so: behind `=` or `:=`, or what it `contains`."""
    depth: int = 0
    """How many keys below its name the value is put; 0 for a rule that has one value."""
    body: tuple[Expression, ...] = ()
    """The expressions of the first body."""
    block: Span | None = None
    """What the first body takes up, without its braces."""
    signature: Span = (0, 0)
    """The reference and the arguments."""
    chained: Span = (0, 0)
    """What follows the first body."""


@dataclass(frozen=True, slots=True)
class Source:
    """A module, as far as it could be read."""

    package: tuple[str, ...]
    imports: tuple[Import, ...]
    rules: tuple[Rule, ...]
    problems: tuple[str, ...] = ()
    """What could not be read, as far as `MOST_PROBLEMS`; whether the text is Rego is for the engine to say."""

    @property
    def tests(self) -> tuple[str, ...]:
        """The names of its rules that are tests."""
        return tuple(dict.fromkeys(rule.name for rule in self.rules if rule.name.startswith(_TEST_NAMES)))


def read(text: str) -> Source:
    """What a text says; of a malformed one, whatever can be told. Takes time in proportion to its length."""
    return _Reader(text).module()


class _Reader:
    """Goes through the tokens once, from statement to statement; a position is an index into them."""

    def __init__(self, text: str) -> None:
        everything = tokens_of(text)
        self.text = text
        self.tokens = [token for token in everything if token.kind is not Kind.COMMENT]
        self.end = len(self.tokens)
        self.tokens.append(Token(Kind.ERROR, "", len(text), len(text), text.count("\n") + 1, 1))
        self.problems: list[str] = []
        for token in everything:
            if token.kind is Kind.ERROR:
                self.note(token, "is not Rego")
        self.closing = self._closing()
        self.titles = Titles(text, everything)
        self.package: tuple[str, ...] = ()
        self.imports: list[Import] = []
        self.infix = _INFIX | {"in"}

    def module(self) -> Source:
        """Every statement, in order."""
        rules: list[Rule] = []
        at = 0
        while at < self.end:
            token = self.tokens[at]
            if self.is_word(at, "package"):
                self.package, at = self.path(at + 1)
            elif self.is_word(at, "import"):
                at = self.take_import(at)
            elif (found := self.rule(at)) is not None:
                rule, at = found
                rules.append(rule)
            else:
                if token.text != ";":
                    self.problem(at)
                at = self.next_line(at)
        return Source(self.package, tuple(self.imports), tuple(rules), tuple(self.problems))

    # What a token is, and where the next one of interest stands.

    def is_symbol(self, at: int, text: str) -> bool:
        token = self.tokens[at]
        return token.text == text and token.kind in _WRITTEN

    def is_word(self, at: int, word: str) -> bool:
        """True for a keyword; one followed by `.` or `[` without a blank is a name after all."""
        token = self.tokens[at]
        if token.text != word or token.kind is not Kind.NAME:
            return False
        after = self.tokens[at + 1]
        return after.start != token.end or after.text not in (".", "[")

    def after(self, at: int) -> int:
        """The position behind a token, or behind the brackets that it opens."""
        return min(self.closing[at] + 1, self.end) if self.tokens[at].kind is Kind.OPEN else at + 1

    def next_line(self, at: int) -> int:
        at = self.after(at)
        while at < self.end and self.tokens[at].line == self.tokens[at - 1].line and self.tokens[at - 1].text != ";":
            at = self.after(at)
        return at

    def breaks_before(self, at: int) -> bool:
        return self.text.find("\n", self.tokens[at - 1].end, self.tokens[at].start) >= 0

    def problem(self, at: int) -> None:
        self.note(self.tokens[at], "was not expected")

    def note(self, token: Token, what: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"line {token.line}: {_shown(token.text) or 'the end'} {what}")

    def expression(self, first: int, end: int) -> Expression:
        start, stop = self.span(first, end)
        return Expression(self.text[start:stop], (start, stop), self.tokens[first].line)

    def span(self, first: int, end: int) -> Span:
        return (self.tokens[first].start, self.tokens[end - 1].end) if end > first else (self.tokens[first].start,) * 2

    def _closing(self) -> list[int]:
        """For every token that opens brackets, the one that closes them; the end for those that are not closed."""
        closing = [self.end] * (self.end + 1)
        opened: list[tuple[str, int]] = []
        count = dict.fromkeys("([{$", 0)
        for at, token in enumerate(self.tokens):
            if token.kind is Kind.OPEN:
                opened.append((token.text[0], at))
                count[token.text[0]] += 1
            elif token.kind is Kind.CLOSE:
                wanted = _BRACKETS[token.text] if len(token.text) == 1 else "$"
                if not count[wanted]:
                    self.problem(at)
                    continue
                bracket = ""
                while bracket != wanted:
                    bracket, start = opened.pop()
                    count[bracket] -= 1
                    closing[start] = at
                    if bracket != wanted:
                        self.note(self.tokens[start], "is not closed")
        for _, at in opened:
            self.note(self.tokens[at], "is not closed")
        return closing

    # Statements.

    def path(self, at: int) -> tuple[tuple[str, ...], int]:
        """The names of a path, and the position behind it."""
        tokens, names = self.tokens, []
        if tokens[at].kind is Kind.NAME:
            names.append(tokens[at].text)
            at += 1
            while True:
                if self.is_symbol(at, ".") and tokens[at + 1].kind is Kind.NAME:
                    names.append(tokens[at + 1].text)
                    at += 2
                elif self.is_symbol(at, "[") and tokens[at + 1].kind is Kind.STRING and self.closing[at] == at + 2:
                    names.append(_unquoted(tokens[at + 1].text))
                    at += 3
                else:
                    return tuple(names), at
        self.problem(at)
        return (), at

    def take_import(self, at: int) -> int:
        line = self.tokens[at].line
        path, at = self.path(at + 1)
        alias = ""
        if self.is_word(at, "as") and self.tokens[at + 1].kind is Kind.NAME:
            alias = self.tokens[at + 1].text
            at += 2
        self.imports.append(Import(path, alias, line))
        if path[:2] == ("future", "keywords"):
            self.infix |= _LOGICAL & (set(path[2:]) or _LOGICAL)
        elif path == ("rego", "v2"):
            self.infix |= _LOGICAL
        return at

    def rule(self, first: int) -> tuple[Rule, int] | None:
        """The clause that starts here and the position behind it; None if none starts here."""
        tokens, name = self.tokens, first
        default = self.is_word(first, "default")
        if default:
            name += 1
        token = tokens[name]
        if token.kind is not Kind.NAME or (token.text in _NEVER_NAMES and self.is_word(name, token.text)):
            return None
        reference, at, depth = self.head_reference(name)
        signature = self.span(name, at)
        multiple = self.is_word(at, "contains")
        value, at = self.head_value(at, contains=multiple)
        head = self.span(name, at)
        body: tuple[Expression, ...] = ()
        block: Span | None = None
        if not default:
            body, block, at = self.body(at)
        rest = at
        while not default and (self.is_word(at, "else") or (block is not None and self.is_symbol(at, "{"))):
            if self.is_word(at, "else"):
                at = self.head_value(at + 1)[1]
            at = self.body(at)[2]
        rule = Rule(
            name=token.text,
            ref=self.text[slice(*self.span(name, reference))],
            line=tokens[first].line,
            column=tokens[first].column,
            span=self.span(first, at),
            head=head,
            title=self.titles.of(tokens[first], tokens[first - 1].end if first else 0),
            default=default,
            is_function=signature[1] > tokens[reference - 1].end,
            value=value,
            depth=depth + multiple,
            body=body,
            block=block,
            signature=signature,
            chained=(tokens[rest - 1].end, tokens[at - 1].end),
        )
        return rule, at

    def head_reference(self, name: int) -> tuple[int, int, int]:
        """Where the reference of a head ends, where its arguments do, and how many keys it has."""
        at, depth = name + 1, 0
        while (following := self.suffix(at)) > at:
            if self.is_symbol(at, "("):
                return at, following, depth
            at, depth = following, depth + 1
        return at, at, depth

    def head_value(self, at: int, *, contains: bool = False) -> tuple[Expression | None, int]:
        if not contains and not (self.tokens[at].kind is Kind.OPERATOR and self.tokens[at].text in _ASSIGN):
            return None, at
        end = self.operation(at + 1)
        if end == at + 1:
            self.problem(end)
            return None, end
        return self.expression(at + 1, end), end

    def body(self, at: int) -> tuple[tuple[Expression, ...], Span | None, int]:
        """The expressions of a body, what they take up, and the position behind it."""
        conditional = self.is_word(at, "if")
        if conditional:
            at += 1
        if self.is_symbol(at, "{") and not (conditional and self.is_value(at)):
            stop = self.closing[at]
            inside = (self.tokens[at].end, self.tokens[stop].start if stop < self.end else self.tokens[stop - 1].end)
            return self.expressions(at + 1, stop), inside, self.after(at)
        if not conditional:
            return (), None, at
        end = self.literal(at)
        if end == at:
            self.problem(at)
            return (), None, at
        return (self.expression(at, end),), self.span(at, end), end

    def is_value(self, at: int) -> bool:
        """True when the brace behind `if` opens an object or a set to be looked at, and not a body."""
        tokens, stop = self.tokens, self.closing[at]
        behind = self.after(at)
        if stop == at + 1 or self.is_operator(behind) or tokens[behind].text in _ASSIGN or self.suffix(behind) > behind:
            return True
        end = self.term(at + 1)
        if end > at + 1 and self.is_symbol(end, "|"):
            return True
        return self.is_symbol(self.operation(at + 1, pairs=False), ":")

    def expressions(self, at: int, stop: int) -> tuple[Expression, ...]:
        """The expressions between two positions."""
        found = []
        while at < stop:
            if self.is_symbol(at, ";"):
                at += 1
                continue
            end = min(self.literal(at), stop)
            if end == at:
                self.problem(at)
                at = self.after(at)
                continue
            found.append(self.expression(at, end))
            if end < stop and not self.is_symbol(end, ";") and not self.breaks_before(end):
                self.problem(end)
            at = end
        return tuple(found)

    # Expressions: where the one that starts at a position ends; that very position if none starts there.
    # A line's end is no end: only what follows tells. Brackets are passed over as a whole.

    def literal(self, at: int) -> int:
        if self.is_word(at, "some"):
            end = self.operation(at + 1, pairs=False)
            while self.is_symbol(end, ","):
                end = self.operation(end + 1, pairs=False)
        elif self.is_word(at, "every") and self.is_symbol(end := self.operation(at + 1), "{"):
            end = self.after(end)
        else:
            first = at + 1 if self.is_word(at, "not") else at
            end = self.operation(first)
            while end > first and self.tokens[end].kind is Kind.OPERATOR and self.tokens[end].text in _ASSIGN:
                end = max(self.operation(end + 1), end + 1)
        while end > at and self.is_word(end, "with"):
            end = self.term(end + 1)
            if self.is_word(end, "as"):
                end = self.operation(end + 1)
        return end

    def operation(self, at: int, *, pairs: bool = True) -> int:
        """Terms joined by operators; with `pairs`, also `key, value in terms`."""
        end = self.term(at)
        while end > at:
            if self.is_operator(end):
                second = end + 2 if self.tokens[end].text in _LOGICAL and self.is_word(end + 1, "not") else end + 1
                end = max(self.term(second), second)
                continue
            if pairs and self.is_symbol(end, ","):
                pairs = False
                second = self.term(end + 1)
                while second > end + 1 and self.is_operator(second) and self.tokens[second].text != "in":
                    second = max(self.term(second + 1), second + 1)
                if self.is_word(second, "in"):
                    end = second
                    continue
            break
        return end

    def is_operator(self, at: int) -> bool:
        token = self.tokens[at]
        if token.text not in self.infix or token.kind is Kind.OPERATOR:
            return token.kind is Kind.OPERATOR and token.text in self.infix
        behind = self.tokens[at + 1]  # before Rego had these keywords, they were names like any other
        return token.kind is Kind.NAME and (behind.kind is not Kind.OPERATOR or behind.text == "-")

    def term(self, at: int) -> int:
        first = at
        if self.is_symbol(at, "-") or (self.is_symbol(at, ".") and self.tokens[at + 1].kind is Kind.NUMBER):
            at += 1
        token = self.tokens[at]
        if token.kind is Kind.NAME:
            if token.text in _RESERVED and self.is_word(at, token.text):
                return first
        elif token.kind not in (Kind.NUMBER, Kind.STRING, Kind.OPEN):
            return first
        at = self.after(at)
        while (following := self.suffix(at)) > at:
            at = following
        return at

    def suffix(self, at: int) -> int:
        """A key or the arguments behind a term. Those that a new line starts belong to another one."""
        if self.is_symbol(at, ".") and self.tokens[at + 1].kind is Kind.NAME:
            return at + 2
        if self.tokens[at].text in ("[", "(") and not self.breaks_before(at):
            return self.after(at)
        return at


def _shown(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"


def _unquoted(text: str) -> str:
    if not text.startswith("`"):
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            pass
    return text[1:-1]
