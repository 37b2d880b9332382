"""Flower as the engine: a ServerApp for the curator, a ClientApp for an owner.

They carry the bytes of `dpsumm.exchange.codec` in Flower's messages and contain no protocol
logic. A ready project is in ``deploy/flower``; ``docs/deploy.md`` says how to run it. Needs the
extra ``flower``.
"""

from dpsumm.errors import MissingExtraError

try:
    import flwr  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "running across silos needs Flower: pip install 'dpsumm[flower]'"
    ) from None

from dpsumm.flower.apps import client_app, server_app

__all__ = ["client_app", "server_app"]
