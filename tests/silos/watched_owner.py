"""The owner's app for tests: writes down what arrives, and misbehaves while it is told to."""

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
    "too much": lambda: pack([points(5000, 3)]),
}


def fault():
    """What the file beside the transcript says: see `Deployment.misbehaving`."""
    path = Path(os.environ["WATCHED"]).with_suffix(".fault")
    return path.read_text() if path.exists() else ""


def fields(record):
    """All but salt and clock: when the signed statement ends, and so its signature."""
    said = {key: value for key, value in record.items() if key not in ("salt", "signature")}
    if said["claim"]:
        said["claim"] = {
            key: value for key, value in json.loads(said["claim"]).items() if key != "until"
        }
    return {key: str(value) for key, value in said.items()}


@app.query()
def answer(message, context):
    """Answer as an owner does, unless told otherwise for the exchange after the description."""
    received = [item.hex() for item in message.content["dpsumm"]["messages"]]
    with Path(os.environ["WATCHED"]).open("a") as file:
        line = {
            "messages": received,
            "records": sorted(message.content),
            "fields": fields(message.content["dpsumm"]),
            "type": message.metadata.message_type,
            "group": message.metadata.group_id,
            "ttl": message.metadata.ttl,
            "config": dict(context.run_config),
            "state": sorted(context.state),
        }
        file.write(json.dumps(line, sort_keys=True) + "\n")
    told = fault()
    if b"Describe" in bytes.fromhex(received[-1]) or not told:
        return client_app(message, context)
    while told == "hang":
        time.sleep(0.2)
        told = fault()
    if told == "raise":
        raise ValueError("a fault of the test")
    if told in FAULTS:
        return Message(FAULTS[told](), reply_to=message)
    return client_app(message, context)
