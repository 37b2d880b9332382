"""What each owner receives in a run, as bytes: for comparison between worlds."""

import dataclasses
import json

import numpy as np

from dpsumm.data.inputs import read_inputs
from dpsumm.privacy import Ledger
from dpsumm.summary.protocols import Owner
from dpsumm.summary.release import Release
from helpers.settings import setting_of


def roles_of(owners, target, seed=None):
    """Owners' roles from arrays by name."""
    tables, _ = read_inputs(owners, target)
    return {
        table.name: Owner(table, None if seed is None else seed + i)
        for i, table in enumerate(tables)
    }


def encoded(message):
    """A message as bytes: every field, arrays in full."""

    def plain(value):
        if isinstance(value, Release):
            return [value.count, value.to_bytes().hex()]
        if isinstance(value, np.ndarray):
            return [str(value.dtype), value.shape, value.tobytes().hex()]
        if dataclasses.is_dataclass(value):
            return {
                "type": type(value).__name__,
                **{f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)},
            }
        if isinstance(value, tuple):
            return [plain(item) for item in value]
        return value

    return json.dumps(plain(message)).encode()


def run(protocol, owners, target, *, curator=None, **more):
    """Run a protocol by hand. Returns what each owner received, in order, and the selection."""
    seed = more.get("seed")
    roles = roles_of(owners, target, seed)
    received = {name: [] for name in owners}
    with Ledger(run="a public name") as book:
        setting = setting_of(target, {n: len(t) for n, t in owners.items()}, book, **more)
        made = (curator or (lambda p, s: p.curator(s)))(protocol, setting)
        while requests := made.send():
            for name, request in requests.items():
                received[name].append(encoded(request))
                made.receive(name, roles[name].answer(request))
        selection = made.result()
        # Silence afterwards, whatever is asked of the curator.
        assert made.send() == {}
        return received, selection
