"""Commands about consents: what subjects agreed to, and what they took back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recollect.cli.capturing import json_file, listed, read, show_fields
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, when

_ConsentId = Annotated[str, typer.Argument(metavar="ID", help="From `consent list`.")]


def add(
    here: Here,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A JSON object; - to read it.")],
) -> None:
    """Add a consent; one that supersedes another stands in its place from then on.

    Example: recollect consent add consent.json
    """
    given = json_file(source)
    told = here.door(create=True).capture_consent(given)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{calm(told['consent_id'])}: {_state(told)}, for {calm(told['purpose'])}{_ended(told)}")


def show_all(
    here: Here,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Whose: user:alice.")],
) -> None:
    """List every consent record of a subject, in their order, and where each stands.

    Example: recollect consent list user:alice
    """
    page = here.door().list_consents(subject)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (
            each["consent_id"],
            _state(each),
            when(read(each["captured_at"])),
            each["purpose"],
            ", ".join(each["scope"]["predicates_allowed"]),
        )
        for each in page["consents"]
    ]
    listed(here, ("id", "state", "captured", "purpose", "covers"), rows, None, "there are no consents of this subject")


def show(here: Here, consent_id: _ConsentId) -> None:
    """Show a consent record, and where it stands.

    Example: recollect consent show cns_0190d7e8
    """
    told = here.door().get_consent(consent_id)
    if here.is_json:
        here.screen.document(told)
    else:
        show_fields(here, told)


def revoke(
    here: Here,
    consent_id: _ConsentId,
    refs: Annotated[
        list[str] | None, typer.Option("--ref", metavar="TEXT", help="What shows that it was; may be repeated.")
    ] = None,
    auditor: Annotated[str | None, typer.Option(metavar="NAME", help="Who saw to it.")] = None,
) -> None:
    """Take a consent back: nothing that rested on it is given to anybody from then on.

    Example: recollect consent revoke cns_0190d7e8 --ref ticket:42
    """
    told = here.door().revoke_consent(consent_id, evidence_refs=refs or [], auditor_id=auditor)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{calm(consent_id)}: revoked{_ended(told)}")


def _state(told: dict[str, Any]) -> str:
    return calm(str(told["state"]))


def _ended(told: dict[str, Any]) -> str:
    """What rested on it, where something did."""
    return f"; {counted(len(told['impacted']), 'record')} ended with it" if told["impacted"] else ""
