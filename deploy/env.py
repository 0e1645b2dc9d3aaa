"""Writes deploy/.env: a secret for each that is missing, and the digest of each image: `make deploy-env`, `make image`.

A digest is what the registry answers, asked by docker; nothing else is ever written in its place. What is there stays.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
LINE = re.compile(r"(?m)^(#?)([A-Z_]+)=(.*)$")
PYTHON = "python:3.11-slim-bookworm"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class Unresolved(Exception):
    """Why the digest of an image is not known."""


def digest_of(image: str) -> str:
    """The image with the digest of its index, which counts for every architecture."""
    docker = shutil.which("docker")
    if docker is None:
        raise Unresolved(f"{image}: there is no docker here to ask the registry with")
    command = [docker, "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    digest = asked.stdout.strip()
    if asked.returncode != 0 or not DIGEST.fullmatch(digest):
        last = (asked.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise Unresolved(f"{image}: the registry did not tell its digest: {last[:300]}")
    return f"{image}@{digest}"


def filled(text: str, resolve: Callable[[str], str] = digest_of) -> tuple[str, list[str]]:
    """The text with what was missing, and what is missing still."""
    missing: list[str] = []

    def fill(found: re.Match[str]) -> str:
        hidden, name, value = found.groups()
        if name.endswith("_IMAGE"):
            image = PYTHON if name == "PYTHON_IMAGE" else value
            if "@" in value:
                return found[0]
            try:
                return f"{name}={resolve(image)}"
            except Unresolved as why:
                missing.append(str(why))
                return found[0]
        if hidden or value:
            return found[0]
        return f"{name}={secrets.token_urlsafe(48)}"

    return LINE.sub(fill, text), missing


def main(words: list[str]) -> int:
    if words == ["--python-image"]:
        try:
            print(digest_of(PYTHON))
        except Unresolved as why:
            sys.stderr.write(f"{why}\n")
            return 1
        return 0
    env = HERE / ".env"
    given = env if env.exists() else HERE / ".env.example"
    text, missing = filled(given.read_text())
    with os.fdopen(os.open(env, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    env.chmod(0o600)
    for each in missing:
        sys.stderr.write(f"{each}\n")
    print(
        f"{env} is written"
        + (f", {len(missing)} digests are missing: run this again where registries answer" if missing else "")
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
