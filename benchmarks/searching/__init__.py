"""Searching by query: how long it takes as memories grow, beside LangGraph's stores with the same vectors."""
