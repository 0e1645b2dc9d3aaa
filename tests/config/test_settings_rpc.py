"""The settings of the gRPC server."""

from __future__ import annotations

from pathlib import Path

import pytest

from foliot.config.parse import SettingsError
from foliot.config.settings import Settings
from tests.tokens import SECRET


@pytest.mark.parametrize(
    ("environ", "port"),
    [
        ({}, None),
        ({"GRPC_PORT": "50054"}, 50054),
        ({"FOLIOT_GRPC_PORT": "0"}, 0),
        ({"FOLIOT_GRPC_PORT": "off"}, "off"),
        ({"GRPC_PORT": "tcp://10.0.0.7:50054"}, None),
    ],
)
def test_its_port(environ: dict[str, str], port: int | str | None) -> None:
    assert Settings.load(environ).grpc_port == port


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"GRPC_PORT": "65536"}, "GRPC_PORT"),
        ({"GRPC_PORT": "on"}, "GRPC_PORT"),
        ({"GRPC_PORT": "1", "FOLIOT_GRPC_PORT": "2"}, "FOLIOT_GRPC_PORT"),
        ({"FOLIOT_GRPC_HOST": "0.0.0.0"}, "FOLIOT_GRPC_HOST"),
        ({"FOLIOT_GRPC_REFLECTION": "perhaps"}, "FOLIOT_GRPC_REFLECTION"),
        ({"FOLIOT_GRPC_TLS_CERT": __file__}, "FOLIOT_GRPC_TLS_KEY"),
        ({"FOLIOT_GRPC_TLS_KEY": "/nowhere/at/all"}, "FOLIOT_GRPC_TLS_KEY"),
    ],
)
def test_what_is_wrong_stops_the_start(environ: dict[str, str], key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ)

    assert [complaint.field for complaint in caught.value.complaints] == [key]


def test_with_tokens_it_may_listen_elsewhere(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("x")
    settings = Settings.load(
        {
            "FOLIOT_JWT_SECRET": SECRET,
            "FOLIOT_GRPC_HOST": "0.0.0.0",
            "FOLIOT_GRPC_REFLECTION": "1",
            "FOLIOT_GRPC_TLS_CERT": str(key),
            "FOLIOT_GRPC_TLS_KEY": str(key),
        }
    )

    assert (settings.grpc_host, settings.grpc_reflection, settings.grpc_tls_key) == ("0.0.0.0", True, key)
