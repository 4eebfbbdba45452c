"""Policies that a team's own OPA server decides."""

from recollect.backends.opa.engine import OpaEngine, OpaPolicy

__all__ = ["OpaEngine", "OpaPolicy"]
