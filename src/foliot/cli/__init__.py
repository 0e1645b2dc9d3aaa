"""The front step: the command `foliot`."""

import gc
import os
import sys


def main() -> None:
    """Run the command line. Nothing heavy is imported before a command needs it."""
    # gRPC would prepare for forks that never happen here, and say so at every process that is started.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    # What a start makes, stays: to look through it for garbage again and again would take a sixth of the time.
    gc.set_threshold(100_000, 50, 100)
    from foliot.cli.root import is_server, root

    if is_server(sys.argv[1:]):
        # It makes more than all others, and says itself when it is done (`process.calm_memory`).
        gc.set_threshold(1_000_000, 50, 100)
        root()(prog_name="foliot")
    else:
        from foliot.cli.app import app, narrow

        narrow(app, sys.argv[1:])
        app(prog_name="foliot")
