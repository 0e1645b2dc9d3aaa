"""The front step: the command `foliot`."""

import gc
import os


def main() -> None:
    """Run the command line. Nothing heavy is imported before a command needs it."""
    # gRPC would prepare for forks that never happen here, and say so at every process that is started.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    # What a start makes, stays: to look through it for garbage again and again would take a sixth of the time.
    gc.set_threshold(100_000, 50, 100)
    from foliot.cli.app import app

    app(prog_name="foliot")
