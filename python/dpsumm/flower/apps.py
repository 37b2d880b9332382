"""The two Flower apps."""

from __future__ import annotations

from collections.abc import Sequence
from logging import INFO, WARNING
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from dpsumm.data.inputs import read_owners
from dpsumm.data.large.stream import Stream
from dpsumm.data.schema import Schema
from dpsumm.errors import DpsummError
from dpsumm.exchange.across import answer_all, reason
from dpsumm.flower.channel import FlowerChannel, find_nodes
from dpsumm.flower.records import pack, unpack
from dpsumm.flower.settings import CuratorFile, OwnerConfig, Public
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.silos import PRECISION, summarize_silos


def _serve(grid: Grid, context: Context) -> None:
    """Run a protocol as the curator; the summary goes to the curator's file."""
    public, own = Public.read(context.run_config), CuratorFile.read()
    nodes = find_nodes(grid, own.owners, claimed=own.claimed_names, timeout=public.timeout)
    summary = summarize_silos(
        FlowerChannel(grid, nodes, public.timeout),
        own.owners,
        own.target,
        schema=own.schema,
        size=public.size,
        epsilon=public.epsilon,
        delta=public.delta,
        protocol=public.protocol,
        kernel=public.kernel,
        file_format=own.file_format,
        ledger=own.ledger,
        run=own.run,
        seed=public.seed,
        minimum=public.minimum,
        max_bytes=public.max_bytes,
        out=own.out,
    )
    if own.report is not None:
        summary.report(own.report)
    for warning in summary.warnings:
        log(WARNING, "dpsumm: %s", warning)
    log(INFO, "dpsumm: %d points in %s", len(summary.points), own.out)


def _answer(message: Message, context: Context) -> Message:
    """Answer the curator as an owner, from the node's data file."""
    paths = [str(context.node_config.get(key, "")) for key in ("data", "schema")]

    def answer() -> bytes:
        config = OwnerConfig.read(context.node_config)
        paths.extend([str(config.data), str(config.schema)])
        source = Stream(config.data) if config.stream else config.data
        (table,) = read_owners(
            {config.name: source},
            schema=Schema.read(config.schema),
            file_format=config.file_format,
        )
        return answer_all(
            Owner(table.astype(PRECISION)),
            unpack(message.content)[0],
            max_bytes=config.max_bytes,
            max_records=config.max_points,
        )

    return Message(pack([_guarded(answer, paths)]), reply_to=message)


def _name(message: Message, context: Context) -> Message:
    """Tell this node's name; believed in simulations only."""
    config = _guarded(lambda: OwnerConfig.read(context.node_config))
    return Message(pack([], config.name), reply_to=message)


def _guarded(work: Any, private: Sequence[str] = ()) -> Any:
    """Run the owner's work; of an error the curator is told what `reason` lets through."""
    try:
        return work()
    except Exception as error:
        text = reason(error, private)
        if isinstance(error, DpsummError):
            log(WARNING, "dpsumm: %s", error)  # here, with the paths
    raise RuntimeError(text)


server_app = ServerApp()
server_app.main()(_serve)
client_app = ClientApp()
client_app.query()(_answer)
client_app.query("name")(_name)
