"""Messages and stubs of the gRPC server, generated from `proto/` by `make proto`; clients import them."""
