"""For authors of backends and of tests: contracts, doubles and fault injectors, shipped with the package."""
