"""The command `foliot`."""

import gc
import os
import sys


def main() -> None:
    """Run the command line. Nothing heavy is imported before a command needs it."""
    # gRPC would prepare for forks that never happen here, and log it for every process that is started.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    from foliot.cli.root import app, is_server

    # The objects of a start live on: collecting garbage meanwhile would take a sixth of the time. A server creates
    # more of them than the other commands, and lowers the threshold itself when it is up (`process.calm_memory`).
    gc.set_threshold(1_000_000 if is_server(sys.argv[1:]) else 100_000, 50, 100)
    app(prog_name="foliot")
