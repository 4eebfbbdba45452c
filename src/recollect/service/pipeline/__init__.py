"""The way in: capture, extract, gate, review, promote, settle; each step decided by rules and written with its why."""
