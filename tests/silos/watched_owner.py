"""The owner's app for tests: writes down what arrives, and misbehaves if its machine says so."""

import json
import os
import time
from pathlib import Path

import numpy as np
from flwr.app import Message
from flwr.clientapp import ClientApp

from dpsumm.flower import client_app
from dpsumm.flower.packing import pack
from dpsumm.summary.protocols.messages import Points
from dpsumm.summary.protocols.wire import encode

app = ClientApp()


def points(rows, columns):
    return encode(Points(np.arange(rows), np.full((rows, columns), 0.5), None))


FAULTS = {
    "garbage": lambda: pack([b"garbage"]),
    "two answers": lambda: pack([points(3, 3), points(4, 3)]),
    "too much": lambda: pack([points(5000, 3)]),
    "another width": lambda: pack([points(3, 2)]),
}


@app.query()
def answer(message, context):
    """Answer as an owner does, unless told otherwise for the exchange after the description."""
    received = [item.hex() for item in message.content["dpsumm"]["messages"]]
    with Path(os.environ["WATCHED"]).open("a") as file:
        line = {
            "messages": received,
            "records": sorted(message.content),
            # All but the salt.
            "fields": {
                key: str(value) for key, value in message.content["dpsumm"].items() if key != "salt"
            },
            "type": message.metadata.message_type,
            "group": message.metadata.group_id,
            "ttl": message.metadata.ttl,
            "config": dict(context.run_config),
            "state": sorted(context.state),
        }
        file.write(json.dumps(line, sort_keys=True) + "\n")
    fault = os.environ["FAULT"]
    if b"Describe" in bytes.fromhex(received[-1]) or not fault:
        return client_app(message, context)
    if fault == "late":
        time.sleep(45)
    if fault == "hang":
        time.sleep(1000)
    if fault == "raise":
        raise ValueError("a fault of the test")
    if fault in FAULTS:
        return Message(FAULTS[fault](), reply_to=message)
    raise AssertionError(fault)
