"""Governing: turns of a conversation, recalled and recorded under the contract of a profile."""
