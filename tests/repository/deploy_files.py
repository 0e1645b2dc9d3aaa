"""What test_deploy.py and test_deploy_kubernetes.py share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]

DEPLOY = ROOT / "deploy"


@cache
def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yml").read_text())


KUSTOMIZE = DEPLOY / "kustomize"


def kustomization(directory: str) -> Any:
    return yaml.safe_load((KUSTOMIZE / directory / "kustomization.yaml").read_text())


def resources(directory: str) -> list[Any]:
    return [
        document
        for name in kustomization(directory)["resources"]
        for document in yaml.safe_load_all((KUSTOMIZE / directory / name).read_text())
    ]
