"""Compiling: from what was recalled, the state of a conversation and a budget to a context pack.

Everything here is pure: the same memories, contradictions, state, budget, counter, template and form give the same
bytes, wherever and however often. A pack is data for a prompt and never an instruction: every remembered text is one
JSON string on one line, so that nothing in it can end the pack, begin a block or speak in another role. The budget
covers all that is rendered in the form that was asked for, and what did not fit is named with a reason.
"""
