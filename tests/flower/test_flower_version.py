"""Flower's counters are switched off by name: another version of it is refused at the start."""

import importlib
import importlib.metadata
import sys
import types

import pytest

from dpsumm.errors import MissingExtraError


@pytest.mark.parametrize("version", ["1.41.0", "1.43.0", "2.0.0", "1.410.0"])
def test_a_version_that_was_not_tested_is_refused_by_every_app(version, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("dpsumm.flower")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flwr", types.ModuleType("flwr"))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    for app in ("dpsumm.flower", "dpsumm.flower.apps", "dpsumm.flower.superlink"):
        with pytest.raises(MissingExtraError, match=f"{version} was not tested.*Install 1.42"):
            importlib.import_module(app)
