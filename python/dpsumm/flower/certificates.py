"""Keys of nodes and a SuperLink's certificate, for a trial on one machine."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from dpsumm.basics.atomic import write_new
from dpsumm.exchange.certificates import Authority


def make_key_pair(folder: Path) -> None:
    """Write ``key``, readable by its user alone, and ``key.pub``, as SuperNodes take them."""
    key = ec.generate_private_key(ec.SECP384R1())
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    write_new(folder / "key", secret.decode())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    write_new(folder / "key.pub", public.decode() + "\n")


def make_certificates(folder: Path) -> str:
    """Write a certificate authority and the SuperLink's certificate. Return the authority's."""
    authority = Authority("dpsumm trial")
    server, key = authority.issue(
        "localhost", hosts=["localhost"], addresses=["127.0.0.1"], client=False
    )
    write_new(folder / "ca.pem", authority.certificate)
    write_new(folder / "server.pem", server)
    write_new(folder / "ca.key", authority.key)
    write_new(folder / "server.key", key)
    return authority.certificate
