"""The gRPC door."""

from foliot.doors.rpc.server import Listening, RpcDoor

__all__ = ["Listening", "RpcDoor"]
