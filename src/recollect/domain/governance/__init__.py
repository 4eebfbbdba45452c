"""Governance: which memory is kept, whose word counts, what is forgotten, and the trace that says why.

Everything here is a function of its arguments: ticks, counters and what is held come in, decisions and traces go out.
"""
