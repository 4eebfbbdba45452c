"""The rules: pure functions over frozen values, with no clock, no chance and no I/O."""
