"""Policy engines: the rule that is built in."""

from recollect.backends.policy.builtin import BuiltinPolicy

__all__ = ["BuiltinPolicy"]
