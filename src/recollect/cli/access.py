"""Commands about who may do what: API keys, and in whose name this is."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli import arguments, shapes
from recollect.cli.here import Here
from recollect.cli.screen import calm, when
from recollect.domain.callers import Scope


def create(
    here: Here,
    user_id: Annotated[str, typer.Argument(metavar="USER", help="Whom the key stands for.")],
    client_id: Annotated[str, typer.Option("--client", metavar="ID", help="The agent that uses it.")] = "",
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the key is for.")] = "",
    roles: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="admin, auditor, operator, or one of yours.")
    ] = None,
    scopes: Annotated[list[Scope] | None, typer.Option("--scope", help="Only for that; all without it.")] = None,
    ttl: Annotated[str | None, typer.Option(metavar="TIME", help="Valid for 12h, 30d.")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="TIME", help="Valid until then.")] = None,
) -> None:
    """Make an API key; its secret is shown this once.

    Example: recollect tokens create alice --scope read --scope write --ttl 90d
    """
    until = arguments.moment(expires_at, "--expires-at")
    length = arguments.seconds(ttl)
    if until is not None and length is not None:
        raise arguments.usage("give --ttl or --expires-at, not both")
    made = here.door(create=True, tenant_is_argument=True).create_token(
        user_id,
        client_id=client_id,
        name=name,
        roles=arguments.listed(roles),
        scopes=[scope.value for scope in scopes] if scopes else None,
        expires_at=until if length is None else arguments.from_now(length),
        tenant=here.asked.tenant,
    )
    if here.is_json:
        here.screen.document({"token": shapes.token(made.token), "secret": made.secret})
    else:
        here.screen.say(made.secret)
        here.screen.note(f"the key {made.token.id} for {calm(made.token.user_id)}; its secret is shown only now")


def show(here: Here) -> None:
    """List the API keys of the tenant, revoked and expired ones included.

    Example: recollect tokens list
    """
    tokens = here.door(tenant_is_argument=True).list_tokens(tenant=here.asked.tenant)
    if here.is_json:
        here.screen.document({"tokens": [shapes.token(each) for each in tokens]})
        return
    if not tokens:
        here.screen.note("there are no API keys")
        return
    rows = [
        (
            each.id,
            each.user_id,
            each.client_id,
            ",".join(each.roles),
            ",".join(each.scopes),
            when(each.created_at),
            f"revoked {when(each.revoked_at)}" if each.revoked_at else when(each.expires_at) or "valid",
            each.name,
        )
        for each in tokens
    ]
    here.screen.table(("id", "user", "client", "roles", "scopes", "made", "until", "name"), rows)


def revoke(here: Here, token_id: Annotated[str, typer.Argument(metavar="ID", help="From `tokens list`.")]) -> None:
    """Refuse an API key from now on.

    Example: recollect tokens revoke 4fQz81mPa0Xk
    """
    token = here.door(tenant_is_argument=True).revoke_token(token_id)
    if here.is_json:
        here.screen.document(shapes.token(token))
    else:
        here.screen.say(f"{token.id}: revoked; it stood for {calm(token.user_id)}")


def whoami(here: Here) -> None:
    """Show in whose name commands are carried out.

    Example: recollect whoami --token rk_…
    """
    who = here.door().whoami()
    if here.is_json:
        here.screen.document(shapes.caller(who))
        return
    rows = [
        ("tenant", who.tenant),
        ("user", who.user_id),
        ("client", who.client_id),
        ("roles", ", ".join(sorted(who.roles))),
        ("scopes", ", ".join(sorted(who.scopes))),
        ("credential", who.credential),
    ]
    here.screen.table(("", ""), [row for row in rows if row[1]], header=False)
