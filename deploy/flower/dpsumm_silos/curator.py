"""The curator."""

from dpsumm.flower import server_app as app

__all__ = ["app"]
