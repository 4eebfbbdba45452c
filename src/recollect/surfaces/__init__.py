"""Doors: how callers reach the use-cases."""
