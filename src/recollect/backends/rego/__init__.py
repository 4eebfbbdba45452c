"""Rego, evaluated in processes of its own that can reach nothing but their input."""

from recollect.backends.rego.engine import RegoEngine, RegoPolicy
from recollect.backends.rego.shipped import shipped_bundle

__all__ = ["RegoEngine", "RegoPolicy", "shipped_bundle"]
