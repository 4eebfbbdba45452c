"""Telling: what was decided, why something is remembered or not, and whether the same past gives the same answer."""
