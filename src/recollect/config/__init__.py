"""Settings, and where they come from."""

from recollect.config.secret import Secret
from recollect.config.settings import Settings

__all__ = ["Secret", "Settings"]
