"""Calls a method of a gRPC service when a schedule fires."""

from foliot.actions.grpc.action import GrpcCall

__all__ = ["GrpcCall"]
