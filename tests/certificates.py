"""Certificates for servers of the tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def self_signed(path: Path) -> Path:
    """A certificate for this machine, and its key."""
    now = datetime.now(UTC)  # noqa: TID251 -- the library that checks it asks the system's clock
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + private)
    return path


def signed(folder: Path, name: str, *, ends: timedelta) -> tuple[Path, Path]:
    """An authority, and a certificate for a name with its key that it has signed; `ends` counts from now."""
    now = datetime.now(UTC)  # noqa: TID251 -- the library that checks it asks the system's clock
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    begins = now - timedelta(days=30)
    root = x509.CertificateBuilder(authority, authority, authority_key.public_key(), x509.random_serial_number())
    root = root.not_valid_before(begins).not_valid_after(now + timedelta(days=30))
    root = root.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    leaf = x509.CertificateBuilder(authority, subject, key.public_key(), x509.random_serial_number())
    leaf = leaf.not_valid_before(begins).not_valid_after(now + ends)
    leaf = leaf.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    pem = serialization.Encoding.PEM
    (folder / "authority.pem").write_bytes(root.sign(authority_key, hashes.SHA256()).public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "chain.pem").write_bytes(leaf.sign(authority_key, hashes.SHA256()).public_bytes(pem) + private)
    return folder / "authority.pem", folder / "chain.pem"
