"""A first policy for a node, its key and its log. The owner edits it from there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpsumm import __version__
from dpsumm.basics.atomic import write_new
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.signatures import SigningKey, is_signed
from dpsumm.flower.gate import read_policy
from dpsumm.flower.tasks.protocols import NAMED, of_task
from dpsumm.privacy.package import package_digest
from dpsumm.privacy.receipts import Receipts

_FILES = ("policy.toml", "receipts.key", "receipts.key.pub", "receipts.db")
_LEFT = "receipts.db.seen"


def make_policy(
    folder: Path,
    task: str,
    *,
    consumers: Mapping[str, str],
    purposes: Sequence[str],
    records: int,
    per_day: int | None = None,
) -> Path:
    """Write ``policy.toml``, ``receipts.key`` and ``receipts.db`` into a folder. Return the first.

    Parameters
    ----------
    task
        Its protocols are answered, except for those that may depend on all records (`NAMED`).
    consumers
        The owner's name for each who may ask, to its public key (``ssh-ed25519 AAAA...``).
    records, per_day
        That may leave ever, and to one consumer within 24 hours.
    """
    policy, secret, public, log = (folder / name for name in _FILES)
    for path in (policy, secret, public, log):
        if path.exists():
            raise InvalidParameterError(
                f"{path} exists already: edit the policy with an editor, and keep its log, which "
                "counts what has left. Or give another folder"
            )
    if (folder / _LEFT).exists():
        raise InvalidParameterError(
            f"{folder / _LEFT} is left of a log that was here, and what it counted would be "
            "forgotten. Put that log back, or give another folder"
        )
    allowed, named = ([x for x in of_task(task) if (x in NAMED) == more] for more in (False, True))
    lines = [
        "# What may leave this machine, to whom, and for what: docs/deploy-owner.md has the keys.",
        f"version = {json.dumps(__version__)}  # of dpsumm, here and at who asks",
        f"package = {json.dumps(package_digest())}  # of its files here",
        *(f"# Not allowed, as each answer may tell of all records: {name}" for name in named),
        f"protocols = {json.dumps(allowed)}",
        f"records = {records}  # that may ever leave, to all, in all runs",
    ]
    lines += [] if per_day is None else [f"records-per-day = {per_day}"]
    lines += [f"receipts = {json.dumps(log.name)}", f"key = {json.dumps(secret.name)}"]
    for name, key in consumers.items():
        lines += ["", f"[consumers.{json.dumps(name)}]", f"key = {json.dumps(key.strip())}"]
        lines += [f"purposes = {json.dumps(list(purposes))}"]
    write_new(policy, "\n".join([*lines, ""]))
    try:
        read_policy(policy)
        made = SigningKey.make(secret)
        Receipts.create(log, made, lambda data, seal: is_signed(data, seal, made.public)).close()
    except BaseException:
        for path in (policy, secret, public):
            path.unlink(missing_ok=True)
        raise
    return policy
