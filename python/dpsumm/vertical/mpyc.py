"""The secret product by MPyC: two owners and the helper, each in a process of its own.

Shamir's secret sharing among three with an honest majority, over TCP with TLS on this machine. The
trusted parties are on docs/privacy/rows.md. The processes run `mpyc_party`.
"""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.atomic import write_new
from dpsumm.errors import MissingExtraError, ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.kernels.inputs import Words
from dpsumm.privacy.release import PaidNoise
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.messages import Deal, Dealt, Finish, MaskedRows, Start, TwoWay
from dpsumm.vertical.mpyc_party import HELPER, LEFT, RIGHT
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.secret_products import Products
from dpsumm.vertical.wire import CODEC

_SIDES = (LEFT, RIGHT, HELPER)


class Meeting:
    """Where the three parties of each pair of owners meet: ports, and a certificate for each party.

    Of a run in one process. It holds no input, since each role starts the process of its side.

    Parameters
    ----------
    patience
        Seconds after which a process that has not ended is ended.
    """

    def __init__(self, patience: float) -> None:
        check_mpyc()
        self._patience = patience
        self._folder = tempfile.TemporaryDirectory(prefix="dpsumm-mpyc-")
        self._ports: dict[tuple[str, str], list[int]] = {}
        self._running: dict[tuple[str, str, int], subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Meeting:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._running.values():
            process.kill()
            process.communicate()
        self._folder.cleanup()

    def start(self, pair: tuple[str, str], side: int, given: dict[str, Any]) -> None:
        """Start one side of a pair (left owner, right owner) with its inputs."""
        if pair not in self._ports:
            self._ports[pair] = self._prepare(pair)
        ports = [f"-P127.0.0.1:{port}" for port in self._ports[pair]]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "dpsumm.vertical.mpyc_party"),
                *(*ports, f"-I{side}", "--ssl", "--no-log"),
            ],
            cwd=self._home(pair, side),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._running[*pair, side] = process
        archive = io.BytesIO()
        np.savez(archive, **given)
        assert process.stdin is not None
        process.stdin.write(archive.getvalue())
        process.stdin.close()
        process.stdin = None

    def end(self, pair: tuple[str, str], side: int) -> NDArray[np.int64]:
        """Wait for one side, and return its result, which is the table at the left owner."""
        process = self._running.pop((*pair, side))
        try:
            found, said = process.communicate(timeout=self._patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise ProtocolError(
                f"MPyC did not end in {self._patience:g} seconds. Give Mpyc more, or use "
                "`protocol=Tables(secret_product=Dealer())`"
            ) from None
        if process.returncode:
            # The kind of error alone: its text may hold a value.
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            kind = " ".join(last).split(":")[0]
            raise ProtocolError(f"a process of MPyC failed ({kind or process.returncode})")
        table: NDArray[np.int64] = np.load(io.BytesIO(found), allow_pickle=False)
        return table

    def _home(self, pair: tuple[str, str], side: int) -> Path:
        return Path(self._folder.name, str(list(self._ports).index(pair)), str(side))

    def _prepare(self, pair: tuple[str, str]) -> list[int]:
        """Write each side's key and certificate into its own folder. Return free ports."""
        from dpsumm.exchange.certificates import Authority

        authority = Authority("dpsumm run")
        with socket.socket() as a, socket.socket() as b, socket.socket() as c:
            for one in (a, b, c):
                one.bind(("127.0.0.1", 0))
            self._ports[pair] = [one.getsockname()[1] for one in (a, b, c)]
        for side in _SIDES:
            home = self._home(pair, side) / ".config"
            home.mkdir(parents=True, mode=0o700)
            name = f"MPyC party {side}"
            certificate, key = authority.issue(name, hosts=[name], client=True)
            write_new(home / "mpyc_ca.crt", authority.certificate)
            write_new(home / f"party_{side}.crt", certificate)
            write_new(home / f"party_{side}.key", key)
        return self._ports[pair]


class MpycOwner(Owner):
    """An owner whose two-way tables with others come from MPyC.

    Its noise is charged and drawn before its process starts, since shares leave from then on. It is
    kept in memory alone. In the books it would undo the tables.
    """

    meeting: Meeting
    _kept: TwoWay

    def _start(self, request: Start) -> MaskedRows:
        product = self._begin(request)
        self._kept = kept = self._shared(
            "two-way",
            self._two_way(product),
            lambda noise: self._noises(product, noise),
            product.digest,
            TwoWay,
        )
        for k, peer in enumerate(request.peers):
            given = {
                "codes": product.towards(k).codes.astype(np.int64),
                "noise": kept.shares[k].astype(np.int64),
                "widths": self._widths(request, k),
                "n": product.n_records,
            }
            self.meeting.start(*self._place(request.sides[k], peer), given)
        return MaskedRows(0, ())

    def _noises(self, product: Products, noise: PaidNoise) -> bytes:
        """Return what the owner adds: noisy tables within, its noise of the others."""
        within, start = self._within(product, noise), product.start
        shares: list[Words] = []
        for k in range(len(start.peers)):
            none = np.zeros(self._widths(start, k), np.uint64)
            shares.append(self._with_noise(product, k, none, noise))
        return CODEC.encode(TwoWay(within, tuple(shares)))

    def _finish(self, request: Finish) -> TwoWay:
        """Return the tables that the process on the left side learnt, at the left owner."""
        product = self._product
        assert product is not None
        start = product.start
        shares: list[Words] = []
        for k, peer in enumerate(start.peers):
            table = self.meeting.end(*self._place(start.sides[k], peer))
            opened = table if start.sides[k] else np.zeros(self._widths(start, k), np.int64)
            narrow = start.ring == 32
            shares.append(opened.astype(np.uint32) if narrow else opened.astype(np.uint64))
        return TwoWay(self._kept.within, tuple(shares))

    def _place(self, left: bool, peer: str) -> tuple[tuple[str, str], int]:
        return ((self.name, peer), LEFT) if left else ((peer, self.name), RIGHT)

    def _widths(self, start: Start, k: int) -> Sequence[int]:
        assert self._product is not None
        own, other = self._product.towards(k).width, int(start.widths[k].sum())
        return (own, other) if start.sides[k] else (other, own)


class MpycHelper(Helper):
    """The third party of each pair: it gives nothing, and sees uniform shares."""

    meeting: Meeting

    def answer(self, request: Request) -> Answer:
        """Start a process for each pair."""
        if not isinstance(request, Deal):
            return super().answer(request)
        for left, right, *widths in zip(
            request.left, request.right, request.left_widths, request.right_widths, strict=True
        ):
            given = {"widths": widths, "n": request.rows}
            self.meeting.start((left, right), HELPER, given)
        return Dealt(())


def check_mpyc() -> None:
    """Raise `MissingExtraError` unless MPyC is installed."""
    import importlib.util

    if not all(importlib.util.find_spec(name) for name in ("mpyc", "cryptography")):
        raise MissingExtraError(
            "secret_product: Mpyc() needs mpyc. Run pip install 'dpsumm[mpyc]', or use "
            "`protocol=Tables(secret_product=Dealer())`"
        )
