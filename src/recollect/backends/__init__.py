"""How the promises of the ports are kept; backends do not know each other."""
