"""An owner."""

from dpsumm.flower import client_app as app

__all__ = ["app"]
