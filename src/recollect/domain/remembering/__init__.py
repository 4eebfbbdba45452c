"""Remembering: from what was said and done to records, as rules over frozen values.

What was captured, where it came from, what is made of it and why; the rules themselves are in `governance` and
`promotion`, and here they are put in one order.
"""
