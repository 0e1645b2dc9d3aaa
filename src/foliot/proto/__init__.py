"""Messages and stubs of the gRPC door, generated from `proto/` by `make proto`; clients import them."""
