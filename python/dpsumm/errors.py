"""Exceptions. Messages name the parameter and the way out, never a private value."""

from __future__ import annotations

from dpsumm.basics.visible import visible


class DpsummError(Exception):
    """Base of all errors that dpsumm raises on purpose. Their messages are of one line each."""

    def __init__(self, *words: object) -> None:
        super().__init__(*map(visible, words))


class InvalidParameterError(DpsummError, ValueError):
    """A parameter is outside its range or does not fit another one."""


class InvalidDataError(DpsummError, ValueError):
    """Data of an owner or of the target cannot be used as they are."""


class BudgetExceededError(DpsummError):
    """A release would spend more than the ledger's cap. Nothing of it was sent."""


class RefusedError(DpsummError):
    """A request breaks an owner's policy. Nothing of its data was sent, and nothing was charged."""


class ProtocolError(DpsummError):
    """A message does not fit the protocol's state, or is malformed."""


class NotFittedError(DpsummError, ValueError, AttributeError):
    """An estimator was asked for what only `fit` makes."""


class MissingExtraError(DpsummError, ImportError):
    """An optional dependency is not installed. The message names the extra."""


class ShardLostError(DpsummError, RuntimeError):
    """Workers that hold an owner's shards were lost for good."""
