"""The two Flower apps, which carry the messages of any task (`dpsumm.flower.tasks`)."""

from __future__ import annotations

from collections.abc import Sequence
from logging import INFO, WARNING
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from dpsumm.basics.visible import logger
from dpsumm.errors import DpsummError
from dpsumm.exchange.across import answer_all, reason
from dpsumm.flower.channel import FlowerChannel, find_nodes
from dpsumm.flower.gate import admitted
from dpsumm.flower.packing import pack, unpack
from dpsumm.flower.requests import signs
from dpsumm.flower.settings import USUAL_TASK, CuratorFile, NodeConfig, Public, settings_of
from dpsumm.flower.tasks import task_of

log = logger("flwr").log


def _serve(grid: Grid, context: Context) -> None:
    """Run the task as the curator. It saves what comes out."""
    public, own = Public.read(context.run_config), CuratorFile.read()
    task = task_of(public.task).read(public, own)
    public.more.refuse_others()
    own.more.refuse_others()
    sign = signs(public, own)
    nodes = find_nodes(grid, task.parties, claimed=own.claimed_names, timeout=public.timeout)
    *notes, done = task.run(FlowerChannel(grid, nodes, public.timeout, sign))
    for note in notes:
        log(WARNING, "dpsumm: %s", note)
    log(INFO, "dpsumm: %s", done)


def _answer(message: Message, context: Context) -> Message:
    """Answer the curator as the party that the node's own configuration makes it."""

    def answer() -> bytes:
        config, packed = _config(context), unpack(message.content)
        with admitted(config, packed) as release:
            party = task_of(config.task).party(config)
            config.more.refuse_others()
            return answer_all(
                party,
                packed.messages,
                max_bytes=config.max_bytes,
                max_records=(config.max_points or 0) if release is None else None,
                before=release,
            )

    return Message(pack([_guarded(answer, context)]), reply_to=message)


def _name(message: Message, context: Context) -> Message:
    """Tell this node's name. Believed in simulations only."""
    config = _guarded(lambda: _config(context), context)
    return Message(pack([], config.name), reply_to=message)


def _config(context: Context) -> NodeConfig:
    """Return the node's configuration. It takes part in its own task only, not in the run's."""
    task = str(context.run_config.get("task", USUAL_TASK))
    return NodeConfig.read(context.node_config, task)


def _guarded(work: Any, context: Context) -> Any:
    """Run a party's work. Of an error the curator is told what `reason` lets through."""
    try:
        return work()
    except Exception as error:
        text = reason(error, _private(context))
        if isinstance(error, DpsummError):
            log(WARNING, "dpsumm: %s", error)  # here, with the paths
    raise RuntimeError(text)


def _private(context: Context) -> Sequence[str]:
    """Return the node's own texts, above all paths. What a run or the name says is known."""
    public = ("name", "task", "separator")
    settings = settings_of(context.node_config)
    return [text for key, text in settings.items() if isinstance(text, str) and key not in public]


server_app = ServerApp()
server_app.main()(_serve)
client_app = ClientApp()
client_app.query()(_answer)
client_app.query("name")(_name)
