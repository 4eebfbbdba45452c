"""Writes `docs/reference/access.md`: every route, and what a caller needs for it, as the code says.

Run by `make generate`; a test compares the page with what this would write.
"""

from __future__ import annotations

from pathlib import Path

from recollect.domain.callers import _NEEDS, Action, Role, Scope
from recollect.surfaces.rest.routes import ROUTES, Route

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs/reference/access.md"
YES, NO, OWN = "yes", "no", "own"
WHO = ("anonymous", "user", *Role)
"""A user is a caller without any of these roles, with a credential for everything."""
ABOUT_MEMORIES = frozenset({Action.READ, Action.WRITE, Action.DELETE})
MANY_ACTIONS = {
    ("POST", "/v1/memories/batch"): (Action.WRITE, Action.DELETE),
    ("POST", "/v1/tools/{name}"): (Action.READ,),
    ("POST", "/v1/records/undo"): (Action.WRITE, Action.DELETE),
    ("POST", "/v1/sessions/{id}/close"): (Action.READ, Action.WRITE),
    ("POST", "/v1/curations"): (Action.WRITE, Action.DELETE),
    ("POST", "/v1/curations/{id}/undo"): (Action.WRITE, Action.DELETE),
    ("POST", "/v1/why-not"): (Action.READ, Action.WRITE),
}
"""What is decided step by step, since one request asks for several things."""
OWN_ALONE = frozenset(
    {"/v1/captures", "/v1/captures/dry-run", "/v1/captures/{id}", "/v1/phases", "/v1/phases/diff", "/v1/recall"}
    | {"/v1/context", "/v1/sessions/{id}/recall", "/v1/sessions/{id}/turns", "/v1/sessions/{id}/replay", "/v1/why-not"}
    | {
        "/v1/traces/{id}",
        "/v1/turns",
        "/v1/turns/import",
        "/v1/sessions",
        "/v1/sessions/{id}",
        "/v1/sessions/{id}/close",
    }
    | {"/v1/sessions/{id}/messages", "/v1/messages", "/v1/session-state", "/v1/spines", "/v1/spines/{version}"}
    | {"/v1/todos", "/v1/todos/{id}", "/v1/seed", "/v1/entities", "/v1/entities/{ref}", "/v1/entities/{ref}/merge"}
    | {"/v1/entities/{ref}/split", "/v1/entity-changes/{id}/undo", "/v1/entity-suggestions"}
    | {"/v1/entity-suggestions/{id}", "/v1/curations", "/v1/curations/{id}/undo"}
)
"""What is about the caller's own memory, also where an administrator calls it."""
SHARED = frozenset({"/v1/profiles", "/v1/profiles/{id}", "/v1/personas", "/v1/personas/{id}"})
"""What is the same for everybody in a tenant."""


def actions_of(route: Route) -> tuple[Action, ...]:
    """What a route asks for; nothing at all for what every caller may."""
    return MANY_ACTIONS.get((route.method, route.path), () if route.action is None else (route.action,))


def scopes_of(route: Route) -> tuple[Scope, ...]:
    """The scopes that a credential needs for a route."""
    return tuple(_NEEDS[action][0] for action in actions_of(route))


def allowed(route: Route, who: str) -> str:
    """Whether a role alone opens a route: yes, no, or for what is the caller's own."""
    if route.anonymous:
        return YES
    if who == "anonymous":
        return NO
    needed = [_NEEDS[action][1] for action in actions_of(route)]
    if not all(who in roles for roles in needed if roles):
        return NO
    about_memories = any(action in ABOUT_MEMORIES for action in actions_of(route)) and route.path not in SHARED
    return OWN if about_memories and (who != Role.ADMIN or route.path in OWN_ALONE) else YES


def page() -> str:
    """The page."""
    head = ("route", "scope", *WHO)
    rows = [
        (
            f"`{route.method} {route.path}`",
            " and ".join(f"`{scope}`" for scope in scopes_of(route)) or "none",
            *(allowed(route, who) for who in WHO),
        )
        for route in ROUTES
    ]
    table = "\n".join("| " + " | ".join(line) + " |" for line in (head, ("---",) * len(head), *rows))
    return f"""# Access

<!-- Generated from the code by `make generate`. Change the code, not this page. -->

Every request is answered for one caller, who is known by an API key or a token. Nothing happens before the caller
is known and allowed. Without a valid credential, everything but the two checks of health is refused with 401, also what
does not exist.

A caller needs the scope of a route, and a role that opens it. Both come with the credential:

- **Scopes** (`read`, `write`, `delete`, `admin`) say what a credential may be used for, whoever holds it.
- **Roles** say what somebody may do. A `user` below is a caller without any of these roles. Other roles are told to
  policies and open nothing by themselves.
- **own**: the policy in force decides memory by memory. The built-in one opens `user/<user_id>` and what lies below.
  Reading or changing anything else is refused with 403; searches, listings and the log leave it out; the id of
  somebody else's memory is not found.
- Everything happens in the tenant of the credential. What is in another tenant is not there. Only an operator reaches
  beyond it: the API keys of every tenant, the settings, and with `service` the policy and the audit of the service.
- An `admin` who reads memories may say why, in the header `X-Justification`, and with `as_user_id` see them as somebody
  else would. Both are refused to everybody else with 403, and every such read is written down.
- A `reviewer`, or an `admin`, decides about what is proposed in the whole tenant, is shown its proposals,
  contradictions, signals and traces, and undoes in all of it.
- Captures, proposals, consents and records are read in one's own name only, whoever says why; so is everything that is
  recalled, compiled, replayed and asked why.
- An `admin` is told the traces and the measures of the whole tenant.
- A tool of an agent needs the scope of what it does: `read` to search, `write` to store, `delete` to delete. It works
  on the caller's own notes, in everybody's own name.

{table}
"""


def write(target: Path = TARGET) -> Path:
    """Write the page and say where."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page())
    return target


if __name__ == "__main__":
    print(f"wrote {write().relative_to(ROOT)}")
