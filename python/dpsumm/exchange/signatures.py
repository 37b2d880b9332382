"""Signatures by Ed25519, with keys as `ssh-keygen -t ed25519` makes them. Needs cryptography."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from dpsumm.basics.atomic import write_new
from dpsumm.errors import InvalidParameterError

_HOW = "Make one with `ssh-keygen -t ed25519 -N '' -f FILE`"


class SigningKey:
    """A private key that signs."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            key = load_ssh_private_key(Path(path).read_bytes(), None)
        except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InvalidParameterError(f"key: {path} is no Ed25519 key. {_HOW}")
        self._key = key
        self.public: str = _text(key.public_key())

    @staticmethod
    def make(path: Path) -> SigningKey:
        """Write a new key, readable by its user alone, and ``<path>.pub``. Neither may exist."""
        key = Ed25519PrivateKey.generate()
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        write_new(path, secret.decode())
        write_new(path.with_name(f"{path.name}.pub"), f"{_text(key.public_key())}\n")
        return SigningKey(path)

    def sign(self, data: bytes) -> bytes:
        """Return the signature, 64 bytes. The same data give the same one."""
        signature: bytes = self._key.sign(data)
        return signature


def is_signed(data: bytes, signature: bytes, public: str) -> bool:
    """Return whether the owner of a public key signed the data, False without a valid key."""
    key = _public(public)
    if key is None:
        return False
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _public(text: str) -> Ed25519PublicKey | None:
    try:
        key = load_ssh_public_key(text.strip().encode())
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, Ed25519PublicKey) else None


def _text(key: Ed25519PublicKey) -> str:
    return str(key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode())
