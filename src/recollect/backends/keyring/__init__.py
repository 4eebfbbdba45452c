"""Envelope encryption: master keys wrap data keys, data keys seal fields."""

from recollect.backends.keyring.envelope import Envelope, Plain
from recollect.backends.keyring.master import CommandMasterKeys, FileMasterKeys

__all__ = ["CommandMasterKeys", "Envelope", "FileMasterKeys", "Plain"]
