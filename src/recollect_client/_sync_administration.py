"""The client for code without an event loop; generated from `_async_administration.py` by `make generate`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from recollect_client import _answers as answers
from recollect_client import _requests as requests
from recollect_client._answers import Answer
from recollect_client._files import Download, Progress
from recollect_client._requests import Call
from recollect_client._shapes import ImportedSoFar, LookedInto, Rotated, Tokens
from recollect_client.models import (
    AuditPage,
    ErasureReceipt,
    Explanation,
    ExportPage,
    Imported,
    IndexStatus,
    NewToken,
    PolicyInForce,
    Report,
    Simulation,
    Token,
    Tuned,
    Written,
)

_POLICIES = "/admin/v1/memories/policies"
_SETTINGS = "/admin/v1/memories/settings"


class Administration(ABC):
    """Everything about memories that is not a memory: keys, policies, the audit, and upkeep."""

    @abstractmethod
    def _send(self, call: Call, download: Download | None = None) -> Answer:
        """Send a request until it is answered."""

    # -- forgetting and keeping

    def erase(self, subject: str) -> ErasureReceipt:
        """Make everything of a subject (`user:<id>`) unreadable for good, in every version, copy and backup."""
        call = requests.write("POST", "/admin/v1/erase", {"subject": subject}, slow=True)
        return answers.decoded(self._send(call), ErasureReceipt)

    def sweep(self, *, batch: int = 100) -> dict[str, int]:
        """Expire, evict, tombstone, purge and trim what is due, in batches, and say how much."""
        call = requests.write("POST", "/admin/v1/sweep", {"batch": batch}, slow=True)
        return answers.decoded(self._send(call), dict[str, int])

    def remember_pending(self) -> int:
        """Look into everything that waits in the tenant, now; say how much that was."""
        call = requests.write("POST", "/admin/v1/captures/remember", slow=True)
        return answers.decoded(self._send(call), LookedInto).looked_into

    def rotate_keys(self) -> int:
        """Wrap every data key with a new master key; values stay as they are. Returns how many keys changed."""
        call = requests.write("POST", "/admin/v1/keys/rotate", slow=True)
        return answers.decoded(self._send(call), Rotated).rotated

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Write a consistent copy of the data to a new file. Keys are not in it: keep those apart."""
        download = Download(target, progress)
        self._send(requests.read("/admin/v1/backup", slow=True), download)

    def export_page(self, cursor: str | None = None, *, limit: int = 500) -> ExportPage:
        """The next part of everything the tenant has; continue with its `cursor` until there is none."""
        call = requests.read("/admin/v1/export", [("cursor", cursor), ("limit", limit)], slow=True)
        return answers.decoded(self._send(call), ExportPage)

    def import_progress(self, source: str) -> int:
        """How far a source has been imported; 0 when nothing came yet."""
        call = requests.read("/admin/v1/import", [("source", source)])
        return answers.decoded(self._send(call), ImportedSoFar).sequence

    def import_page(self, source: str, entries: Sequence[dict[str, Any]]) -> Imported:
        """Take over entries of an export; those that came before are skipped."""
        fields = {"source": source, "entries": requests.entries_given(entries)}
        return answers.decoded(self._send(requests.write("POST", "/admin/v1/import", fields, slow=True)), Imported)

    # -- API keys

    def create_token(
        self,
        user_id: str,
        *,
        client_id: str = "",
        name: str = "",
        roles: Iterable[str] = (),
        scopes: Iterable[str] | None = None,
        expires_at: datetime | None = None,
        tenant: str | None = None,
    ) -> NewToken:
        """Make an API key that stands for a user. Its secret is shown this once."""
        fields = {
            "user_id": user_id,
            "client_id": client_id or None,
            "name": name or None,
            "roles": requests.roles_given(roles, "roles"),
            "scopes": requests.roles_given(scopes, "scopes"),
            "expires_at": requests.moment(expires_at),
            "tenant": tenant,
        }
        # Not repeated when the answer was lost: a second key would be made, and the first stay behind unknown.
        call = requests.write("POST", "/admin/v1/tokens", fields, repeatable=False)
        return answers.decoded(self._send(call), NewToken)

    def list_tokens(self, *, tenant: str | None = None) -> list[Token]:
        """The API keys of the tenant, without their secrets."""
        return answers.decoded(self._send(requests.read("/admin/v1/tokens", [("tenant", tenant)])), Tokens).tokens

    def revoke_token(self, token_id: str) -> Token:
        """Refuse an API key from now on."""
        call = requests.write("DELETE", f"/admin/v1/tokens/{requests.in_path(token_id)}")
        return answers.decoded(self._send(call), Token)

    # -- policies

    def show_policy(self, *, service: bool = False) -> PolicyInForce:
        """The policy in force in the tenant, or that of the service, and the versions before it."""
        call = requests.read(_POLICIES, requests.switch("service", service))
        return answers.decoded(self._send(call), PolicyInForce)

    def check_policy(self, modules: Mapping[str, str]) -> Report:
        """What there is to say against a bundle of Rego modules, without putting it in force."""
        call = requests.ask(f"{_POLICIES}/check", {"modules": requests.modules_given(modules)}, slow=True)
        return answers.decoded(self._send(call), Report)

    def push_policy(self, modules: Mapping[str, str], *, note: str = "", service: bool = False) -> PolicyInForce:
        """Put a bundle in force, once its tests pass and it denies what every policy must; else all stays as it is."""
        fields = {"modules": requests.modules_given(modules), "note": note or None, "service": service or None}
        # Not repeated when the answer was lost: the same texts would be put in force twice, as two versions.
        call = requests.write("PUT", _POLICIES, fields, slow=True, repeatable=False)
        return answers.decoded(self._send(call), PolicyInForce)

    def rollback_policy(self, number: int | None = None, *, service: bool = False) -> PolicyInForce:
        """Put an earlier version in force again: the one before, or the one named; 0 is the policy of the service."""
        fields = {"number": number, "service": service or None}
        # Not repeated when the answer was lost: a second attempt would go back one version further.
        call = requests.write("POST", f"{_POLICIES}/rollback", fields, slow=True, repeatable=number is not None)
        return answers.decoded(self._send(call), PolicyInForce)

    def explain_policy(
        self,
        action: str,
        namespace: Sequence[str],
        key: str = "",
        *,
        user_id: str,
        client_id: str = "",
        roles: Iterable[str] = (),
        claims: Mapping[str, Any] | None = None,
        value: Mapping[str, Any] | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        modules: Mapping[str, str] | None = None,
    ) -> Explanation:
        """Why such a caller may or may not read, write or delete a memory, or what of a `search` they would see.

        With `modules`, as that bundle would decide.
        """
        fields = {
            "action": action,
            "namespace": requests.segments(namespace),
            "key": key,
            "user_id": user_id,
            "client_id": client_id or None,
            "roles": requests.roles_given(roles, "roles"),
            "claims": requests.claims_given(claims),
            "value": requests.value_given(value),
            "filter": requests.filter_asked(filter),
            "modules": None if modules is None else requests.modules_given(modules),
        }
        call = requests.ask(f"{_POLICIES}/explain", fields, slow=True)
        return answers.decoded(self._send(call), Explanation)

    def simulate_policy(self, modules: Mapping[str, str]) -> Simulation:
        """Which of the decisions that were asked for lately a bundle would change, before it is put in force."""
        call = requests.ask(f"{_POLICIES}/simulate", {"modules": requests.modules_given(modules)}, slow=True)
        return answers.decoded(self._send(call), Simulation)

    # -- the audit, and what administrators do with other people's memories

    def list_audit(
        self, *, action: str | None = None, limit: int = 50, cursor: str | None = None, service: bool = False
    ) -> AuditPage:
        """What administrators did, newest first; with `service`, what concerns the service itself."""
        query = [("action", action), ("limit", limit), ("cursor", cursor), *requests.switch("service", service)]
        return answers.decoded(self._send(requests.read("/admin/v1/audit", query)), AuditPage)

    def force_delete(self, item_id: UUID, *, justification: str) -> Written:
        """Delete a memory by the id of its live version, whoever's it is; that, and why, is written down."""
        return answers.one_deleted(self._send(requests.force_delete(item_id, justification)), item_id)

    # -- the index and the settings

    def index_status(self) -> IndexStatus:
        """What is still to be indexed, and how far attributes were brought up to date with the policy."""
        return answers.decoded(self._send(requests.read("/admin/v1/memories/index/status")), IndexStatus)

    def trigger_index(self) -> IndexStatus:
        """Index and extract what is due now, instead of waiting for the next round."""
        call = requests.write("POST", "/admin/v1/memories/index/trigger", slow=True)
        return answers.decoded(self._send(call), IndexStatus)

    def show_settings(self) -> Tuned:
        """The settings that can be changed at run time, and which of them were."""
        return answers.decoded(self._send(requests.read(_SETTINGS)), Tuned)

    def change_settings(self, settings: Mapping[str, float | None]) -> Tuned:
        """Change settings at run time, in every process; None takes a change back."""
        call = requests.change("PUT", _SETTINGS, settings)
        return answers.decoded(self._send(call), Tuned)
