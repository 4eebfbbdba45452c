"""One workload, run in one go on one machine against this store, its peers and the bare database."""
