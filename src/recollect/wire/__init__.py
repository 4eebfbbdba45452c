"""The JSON shapes of the public API, shared by the doors."""
