"""Audits measure lower bounds on epsilon and compare them with the ledger's charges.

A claim fails if a mechanism, run on a worst case of neighbouring data, leaks more than it is
charged for. An audit that nothing can fail proves nothing: so broken twins, each with one known
mistake, must be caught by the same harness. They live here, in the modules named ``twins``, and
nowhere a protocol could reach them.
"""

from dpsumm.audit.audit import Outcome
from dpsumm.audit.bound import Measured, lower_bound
from dpsumm.audit.measure import run_audits

__all__ = ["Measured", "Outcome", "lower_bound", "run_audits"]
