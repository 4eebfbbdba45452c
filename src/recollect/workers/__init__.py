"""Workers: what happens without a caller, by any number of processes at once."""
