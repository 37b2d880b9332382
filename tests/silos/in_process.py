"""Both apps in this process: a grid whose nodes answer at once, by the real client app."""

from dataclasses import dataclass, field

import httpx
import pytest
from flwr.app import Context, Error, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from dpsumm.exchange.post import Clock
from dpsumm.flower.apps import _serve, client_app


@dataclass
class Info:
    node_id: int
    name: str


@dataclass
class Grid:
    """Carries messages to nodes by their configuration; `faults` has what becomes of a reply."""

    nodes: dict
    run_config: dict
    faults: dict = field(default_factory=dict)
    asked: dict = field(default_factory=dict)
    told: list = field(default_factory=list)
    replies: dict = field(default_factory=dict)

    def context(self, node):
        return Context(1, node, self.nodes[node], RecordDict(), self.run_config)

    def get_nodes(self):
        return [Info(node, config["name"]) for node, config in self.nodes.items()]

    def push_messages(self, messages):
        (message,) = messages
        node = message.metadata.dst_node_id
        name = self.nodes[node]["name"]
        message.metadata.__dict__["_message_id"] = f"{node}/{len(self.asked)}"
        self.asked.setdefault(name, []).append(message.content["dpsumm"]["messages"])
        fault = self.faults.get(name)
        if fault == "unreachable":
            raise httpx.ConnectError("down")
        if fault != "late":
            self.replies[message.metadata.message_id] = self.reply(message, node, fault)
        return [message.metadata.message_id]

    def reply(self, message, node, fault):
        try:
            reply = client_app(message, self.context(node))
        except Exception as error:
            self.told.append(str(error))
            return Message(Error(1, str(error)), reply_to=message)
        return reply if fault is None else fault(reply)

    def pull_messages(self, idents):
        return [self.replies.pop(ident) for ident in idents if ident in self.replies]


class Waiting(Clock):
    """Time that passes only while the curator waits: here a reply has come by then, or never."""

    def __init__(self):
        self.time = 0.0

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds


def run(nodes, run_config, **grid):
    """Run the curator's app over such a grid; return it."""
    TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 1
    made = Grid(dict(enumerate(nodes, 1)), run_config, **grid)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpsumm.flower.channel.Clock", Waiting)
        _serve(made, made.context(1))
    return made
