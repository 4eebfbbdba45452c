"""Faults on purpose: files that fail, power that goes off, processes that are killed."""
