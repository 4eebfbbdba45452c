"""Recalling: what an agent is given, and the context that is compiled from it."""
