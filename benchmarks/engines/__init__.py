"""Our store on a database server: against a peer on the same one, over HTTP by several processes, and as it grows."""
