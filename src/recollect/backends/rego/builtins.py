"""Built-in functions: which ones a policy may use here, and why it may not use the others.

It may use what gives the answers of OPA, always and soon. That was measured, not assumed: by OPA's own test cases, and
by calls that OPA answered; `tests/policies` compares these lists with what is measured. Operators, `in` and templates
are built-ins as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

OPA = "1.22.0"
"""The version of OPA that everything here is compared with."""


class Refusal(StrEnum):
    """Why a policy may not use a built-in."""

    sentence: str
    """What the user is told of it, behind the name."""

    def __new__(cls, code: str, sentence: str) -> Refusal:
        """A member is its code, and carries its sentence."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member

    OUTSIDE = "outside", "reaches outside of the decision: the environment, the network, or a terminal"
    """A decision depends on nothing but its input, and does nothing but decide."""
    CLOCK = "clock", "reads the clock, so that the same question could get another answer"
    """The time is a part of the input."""
    CHANCE = "chance", "gives another answer each time"
    """A decision that cannot be repeated cannot be explained."""
    UNBOUNDED = "unbounded", "can take time or memory without bound"
    """Somebody who may choose its arguments could hold up decisions."""
    DIFFERS = "differs", f"does not always give the answer that OPA {OPA} gives"
    """A policy must not mean one thing here and another in OPA."""
    MISSING = "missing", "does not exist in the embedded engine"
    """The embedded engine has not got it, and would take it for undefined."""
    REMOVED = "removed", "was removed from Rego v1"
    """OPA refuses it, too."""


ALLOWED: frozenset[str] = frozenset(
    {
        # operators, `in`, and templates
        *("and", "div", "equal", "gt", "gte", "internal.member_2", "internal.template_string", "lt", "lte", "minus"),
        *("mul", "neq", "or", "plus"),
        # types
        *("is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name"),
        # numbers
        *("abs", "bits.and", "bits.negate", "bits.or", "bits.xor", "round"),
        # text
        *("concat", "contains", "crypto.hmac.equal", "endswith", "split", "startswith", "strings.any_prefix_match"),
        *("strings.any_suffix_match", "substring", "trim", "trim_left", "trim_prefix", "trim_right", "trim_suffix"),
        # collections
        *("array.concat", "array.flatten", "array.reverse", "count", "graph.reachable", "intersection", "json.patch"),
        *("object.filter", "object.get", "object.keys", "object.remove", "union", "walk"),
        # time, of a moment that is given
        *("time.clock", "time.date", "time.weekday"),
    }
)

_ORDERED = (
    "Compares numbers with numbers and text with text. Values of other types, or of two types, are ordered otherwise "
    "than by OPA, and so is text with quotes, backslashes or control characters."
)
_UTC = "In UTC only: there is no decision for any other time zone."
_EXACT = "Whole numbers are exact; anything else has about 15 digits, where OPA keeps 19."

CAVEATS: Mapping[str, str] = MappingProxyType(
    {
        "concat": "Joins the elements of a set in no particular order; OPA sorts them.",
        "div": _EXACT,
        "gt": _ORDERED,
        "gte": _ORDERED,
        "internal.template_string": "Quotes within arrays, objects and sets appear with a backslash before them.",
        "lt": _ORDERED,
        "lte": _ORDERED,
        "minus": _EXACT,
        "mul": _EXACT,
        "object.get": "There is no decision when a path leads past the end of an array; OPA gives the default.",
        "plus": _EXACT,
        "time.clock": _UTC,
        "time.date": _UTC,
        "time.weekday": _UTC,
    }
)
"""What to know of an allowed built-in: arguments for which it is not as in OPA."""

_REFUSED: Mapping[Refusal, tuple[str, ...]] = {
    Refusal.OUTSIDE: ("http.send", "internal.print", "net.lookup_ip_addr", "opa.runtime", "print"),
    Refusal.CLOCK: ("io.jwt.decode_verify", "time.now_ns"),
    Refusal.CHANCE: ("io.jwt.encode_sign", "io.jwt.encode_sign_raw", "rand.intn", "uuid.rfc4122"),
    Refusal.UNBOUNDED: (
        *("glob.match", "graph.reachable_paths", "numbers.range", "numbers.range_step", "product"),
        *("regex.find_all_string_submatch_n", "regex.find_n", "regex.match", "regex.replace", "regex.split"),
        *("regex.template_match", "replace", "strings.replace_n"),
    ),
    Refusal.DIFFERS: (
        *("array.slice", "base64.decode", "base64.encode", "base64.is_valid", "base64url.decode", "base64url.encode"),
        *("base64url.encode_no_pad", "bits.lsh", "bits.rsh", "ceil", "crypto.hmac.md5", "crypto.hmac.sha1"),
        *("crypto.hmac.sha256", "crypto.hmac.sha512", "crypto.md5", "crypto.parse_private_keys", "crypto.sha1"),
        *("crypto.sha256", "crypto.x509.parse_and_verify_certificates", "crypto.x509.parse_certificate_request"),
        "crypto.x509.parse_certificates",
        *("crypto.x509.parse_keypair", "crypto.x509.parse_rsa_private_key", "floor", "format_int", "glob.quote_meta"),
        *("hex.decode", "hex.encode", "indexof", "indexof_n", "internal.member_3", "io.jwt.decode"),
        *("io.jwt.verify_eddsa", "io.jwt.verify_es256", "io.jwt.verify_es384", "io.jwt.verify_es512"),
        *("io.jwt.verify_hs256", "io.jwt.verify_hs384", "io.jwt.verify_hs512", "io.jwt.verify_ps256"),
        *("io.jwt.verify_ps384", "io.jwt.verify_ps512", "io.jwt.verify_rs256", "io.jwt.verify_rs384"),
        *("io.jwt.verify_rs512", "json.filter", "json.is_valid", "json.marshal", "json.marshal_with_options"),
        *("json.remove", "json.unmarshal", "lower", "max", "min", "object.subset", "object.union", "object.union_n"),
        *("regex.globs_match", "regex.is_valid", "rem", "semver.compare", "semver.is_valid", "sort", "sprintf"),
        *("strings.count", "strings.reverse", "sum", "time.add_date", "time.diff", "time.format"),
        *("time.parse_duration_ns", "time.parse_ns", "time.parse_rfc3339_ns", "to_number", "trim_space", "units.parse"),
        *("units.parse_bytes", "upper", "uri.is_valid", "uri.parse", "urlquery.decode", "urlquery.decode_object"),
        *("urlquery.encode", "urlquery.encode_object", "uuid.parse", "yaml.is_valid", "yaml.marshal"),
        "yaml.unmarshal",
    ),
    Refusal.MISSING: (
        *("assign", "crypto.x509.parse_and_verify_certificates_with_options", "eq", "graphql.is_valid"),
        *("graphql.parse", "graphql.parse_and_verify", "graphql.parse_query", "graphql.parse_schema"),
        *("graphql.schema_is_valid", "internal.test_case", "json.match_schema", "json.verify_schema"),
        *("net.cidr_contains", "net.cidr_contains_matches", "net.cidr_expand", "net.cidr_intersects"),
        *("net.cidr_is_valid", "net.cidr_merge", "providers.aws.sign_req", "rego.metadata.chain"),
        *("rego.metadata.rule", "rego.parse_module", "strings.render_template", "strings.split_n"),
        "trace",
    ),
    Refusal.REMOVED: (
        *("all", "any", "cast_array", "cast_boolean", "cast_null", "cast_object", "cast_set", "cast_string"),
        *("net.cidr_overlap", "re_match", "set_diff"),
    ),
}

REFUSED: Mapping[str, Refusal] = MappingProxyType({name: why for why, names in _REFUSED.items() for name in names})

_TEXT = "Use `startswith`, `endswith`, `contains` or `split`"
_NAMES = "Compare with the exact spelling"
_INSTEAD: Mapping[str, str] = {
    "ceil": "Use `round`",
    "floor": "Use `round`",
    "glob.match": _TEXT,
    "indexof": "Use `contains` or `split`",
    "internal.member_3": "Use `some key, value in …`",
    "lower": _NAMES,
    "max": "Write the order down in an array",
    "min": "Write the order down in an array",
    "numbers.range": "Write the numbers down",
    "object.union": "Write the object down, or use a comprehension",
    "regex.match": _TEXT,
    "rem": "Use `bits.and`, if it is about powers of two",
    "replace": "Use `split` and `concat`",
    "sprintf": 'Use a template, like `$"no access to {input.key}"`',
    "strings.split_n": "Use `split`",
    "sum": "Use `count`, if that is enough",
    "trim_space": 'Use `trim(x, " ")`',
    "upper": _NAMES,
}
SPELLED: Mapping[str, str] = MappingProxyType(
    {
        "and": "&",
        "div": "/",
        "equal": "==",
        "gt": ">",
        "gte": ">=",
        "lt": "<",
        "lte": "<=",
        "minus": "-",
        "mul": "*",
        "neq": "!=",
        "or": "|",
        "plus": "+",
        "rem": "%",
        "internal.member_2": "x in xs",
        "internal.member_3": "key, value in xs",
        "internal.print": "print",
        "internal.template_string": '$"…"',
    }
)
"""How a policy spells what has another name inside."""


def refusal(name: str) -> str:
    """One sentence for the author of a policy: which built-in, why it is refused, and what to do."""
    spelled = f"`{SPELLED.get(name, name)}`"
    why = REFUSED.get(name)
    if why is None:
        return f"{spelled} is refused: it is not a built-in of OPA {OPA}."
    said = f"{spelled} is refused: it {why.sentence}."
    if why is Refusal.REMOVED:
        return said
    if why is Refusal.CLOCK:
        return f"{said} Use `input.context.now_ns` for the time."
    server = 'the OPA server engine (policy_engine = "opa")'
    instead = _INSTEAD.get(name)
    return f"{said} {instead}, or use {server}." if instead else f"{said} Use {server}."
