"""Entities: the people, places, organisations and projects that somebody speaks of."""
