"""The built-in rule as plain Python, without any engine."""

from recollect.backends.policy.builtin import BuiltinEngine, BuiltinPolicy

__all__ = ["BuiltinEngine", "BuiltinPolicy"]
