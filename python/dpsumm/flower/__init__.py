"""Flower as the engine: a ServerApp for the curator, a ClientApp for an owner.

They carry the bytes of `dpsumm.exchange.codec` in Flower's messages and contain no protocol
logic. A ready project is in ``deploy/flower``; ``docs/deploy.md`` says how to run it. Needs the
extra ``flower``.
"""

from importlib.metadata import version

from dpsumm.errors import MissingExtraError

# Minor versions that were tested. Others may count, keep or tell what these do not: the counters
# that owners could read are switched off by their names (`dpsumm.flower.superlink`).
TESTED = ("1.42",)

try:
    import flwr  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "running across silos needs Flower: pip install 'dpsumm[flower]'"
    ) from None

if ".".join(version("flwr").split(".")[:2]) not in TESTED:
    raise MissingExtraError(
        f"Flower (flwr) {version('flwr')} was not tested with dpsumm and might tell owners of one "
        f"another. Install {' or '.join(TESTED)}: pip install 'dpsumm[flower]'"
    )

from dpsumm.flower.apps import client_app, server_app  # noqa: E402 (only if it was tested)

__all__ = ["client_app", "server_app"]
