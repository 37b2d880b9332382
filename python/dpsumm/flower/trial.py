"""Configuration of a trial on one machine: certificates, keys, start scripts.

The files are those that a real deployment has on its machines, one directory for each party; see
``docs/deploy.md``.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

from dpsumm.errors import InvalidParameterError
from dpsumm.schema import Schema

# Certificates of a trial end with it.
_DAYS = 30
# Nothing is sent to Flower's makers, nothing is installed while running.
_QUIET = "export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1"


def make_trial(
    folder: str | os.PathLike[str],
    owners: Sequence[str],
    *,
    data: str | os.PathLike[str],
    schema: str | os.PathLike[str],
    port: int = 8000,
    max_points: int = 10_000,
) -> Path:
    """Write what a trial on this machine needs; return the folder.

    ``curator/`` gets a certificate authority, the SuperLink's certificate, the curator's settings
    and ``superlink.sh``; each owner's directory its key pair, the authority's certificate, its node
    configuration and ``supernode.sh``. Private keys are readable by their user alone.

    Parameters
    ----------
    folder
        Made if absent.
    owners
        Names: letters, digits, dashes and underscores.
    data
        Directory with ``target.csv`` and each owner's ``<name>.csv``.
    schema
        The public schema, a TOML file; every party gets a copy.
    port
        Of the SuperLink on 127.0.0.1; the SuperNodes' own ports follow it.
    max_points
        Records that an owner sends in a run, at most.

    Raises
    ------
    InvalidParameterError
        A name cannot be a directory's, or the folder holds a trial already.
    """
    folder, data = Path(folder).resolve(), Path(data).resolve()
    Schema.read(schema)
    columns = Path(schema).read_text(encoding="utf-8")
    for name in owners:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name) or name in ("curator", "data", "app"):
            raise InvalidParameterError(
                f"owner {name!r}: use letters, digits, - and _, and not curator, data or app"
            )
    if len(set(owners)) < len(owners) or not owners:
        raise InvalidParameterError("owners must be distinct names, at least one")
    curator = folder / "curator"
    if curator.exists():
        raise InvalidParameterError(f"{curator} exists already; give another folder")
    (curator / "flwr").mkdir(parents=True)
    authority = _certificates(curator)
    _write(
        curator / "flwr" / "config.toml",
        f'[superlink]\ndefault = "trial"\n\n[superlink.trial]\naddress = "127.0.0.1:{port}"\n'
        f'root-certificates = "{curator / "ca.pem"}"\n',
    )
    names = ", ".join(f'"{name}"' for name in owners)
    _write(
        curator / "curator.toml",
        f'target = "{data / "target.csv"}"\nschema = "schema.toml"\nowners = [{names}]\nout = "summary.parquet"\n'
        'ledger = "books.db"\nrun = "trial-1"\n',
    )
    _write(curator / "schema.toml", columns)
    _script(
        curator / "superlink.sh",
        f"export DPSUMM_CURATOR={shlex.quote(str(curator / 'curator.toml'))}",
        "flower-superlink --enable-supernode-auth --disable-runtime-dependency-installation "
        f"--ssl-ca-certfile ca.pem --ssl-certfile server.pem --ssl-keyfile server.key "
        f"--host 127.0.0.1 --port {port} --database superlink.db",
    )
    for i, name in enumerate(owners):
        own = folder / name
        own.mkdir()
        _write(own / "ca.pem", authority)
        _write(own / "schema.toml", columns)
        key = ec.generate_private_key(ec.SECP384R1())
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        _write(own / "key", secret.decode(), secret=True)
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        _write(own / "key.pub", public.decode() + "\n")
        _write(
            own / "node.toml",
            f'name = "{name}"\ndata = "{data / name}.csv"\n'
            f'schema = "{own / "schema.toml"}"\nmax-points = {max_points}\n',
        )
        _script(
            own / "supernode.sh",
            f"flower-supernode --superlink 127.0.0.1:{port} --root-certificates ca.pem "
            f"--auth-supernode-private-key key --node-config node.toml "
            f"--host 127.0.0.1 --port {port + 1 + i}",
        )
    return folder


def _certificates(folder: Path) -> str:
    """Write a certificate authority and the SuperLink's certificate; return the authority's."""
    now = datetime.datetime.now(datetime.timezone.utc)
    root_key, key = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dpsumm trial")])

    def builder(name: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(root_name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
        )

    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    root = (
        builder(root_name, root_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(root_key.public_key()), critical=False
        )
        .sign(root_key, hashes.SHA384())
    )
    here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    server = (
        builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), key.public_key())
        .add_extension(x509.SubjectAlternativeName(here), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()),
            critical=False,
        )
        .add_extension(
            x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .sign(root_key, hashes.SHA384())
    )
    authority: str = root.public_bytes(Encoding.PEM).decode()
    _write(folder / "ca.pem", authority)
    _write(folder / "server.pem", server.public_bytes(Encoding.PEM).decode())
    for name, secret in (("ca.key", root_key), ("server.key", key)):
        pem = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        _write(folder / name, pem.decode(), secret=True)
    return authority


def _script(path: Path, *lines: str) -> None:
    _write(
        path,
        "\n".join(
            [
                "#!/bin/sh",
                "set -eu",
                'cd "$(dirname "$0")"',
                _QUIET,
                *lines[:-1],
                f"exec {lines[-1]}",
                "",
            ]
        ),
    )


def _write(path: Path, text: str, *, secret: bool = False) -> None:
    with open(
        os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if secret else 0o644),
        "w",
        encoding="utf-8",
    ) as file:
        file.write(text)
