"""Measuring: figures of the memory of one user, or of a tenant."""
