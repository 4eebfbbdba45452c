"""The use-cases: what Recollect does, one subject per module, in terms of the ports."""
