"""In whose name something comes in, is reviewed or is asked for."""

from __future__ import annotations

from recollect.domain.callers import FIRST_USER, LOCAL, Action, Caller, Role
from recollect.domain.errors import Forbidden
from recollect.service.workings import Workings


class Person:
    """One caller, as the parts of the way in know them."""

    _workings: Workings
    _caller: Caller
    _tenant: str
    _actor: str

    @property
    def _owner(self) -> str:
        """Whose memory it is: the caller's; of who opened the data directory itself, the first user's."""
        return FIRST_USER if self._caller.credential == LOCAL else self._caller.user_id

    @property
    def _reviewer(self) -> str:
        """Who decides."""
        return self._caller.user_id or self._owner

    @property
    def _reviews(self) -> bool:
        """Whether they decide about what others propose."""
        return bool({Role.ADMIN, Role.REVIEWER} & self._caller.roles)

    @property
    def _seeing(self) -> Action:
        """What it takes to see what others propose: an administrator reads it, a reviewer reviews it."""
        return Action.READ if self._caller.is_admin else Action.REVIEW

    @property
    def _in_own_name(self) -> bool:
        return True

    def _check_own_name(self) -> None:
        if not self._in_own_name:
            raise Forbidden("access denied", reason="this is done in one's own name, not with a justification")
