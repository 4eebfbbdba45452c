"""The messages and stubs of the gRPC door, generated from its contract by `make generate`."""
