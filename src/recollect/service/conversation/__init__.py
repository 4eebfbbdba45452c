"""Conversing: sessions, turns, todos, entities and summaries, in the name of one caller."""
