"""The front step: the command `foliot`."""


def main() -> None:
    """Run the command line. Nothing heavy is imported before a command needs it."""
    from foliot.cli.app import app

    app(prog_name="foliot")
