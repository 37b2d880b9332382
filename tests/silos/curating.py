"""Runs of a deployment: the curator's settings, what it has kept, what owners received."""

import json
import sqlite3

import numpy as np
from deployment import BOUNDS, SCHEMA

import dpsumm
from dpsumm.privacy import Ledger


def curator_file(deployment, **values):
    """Write the curator's settings; a run and its ledger unless they are left out."""
    names = ", ".join(f'"{name}"' for name in values.pop("owners", deployment.names))
    values = {
        "target": str(deployment.folder / "data" / "target.csv"),
        "schema": "schema.toml",
        "key": "consumer.key",
        **values,
    }
    text = "\n".join(f'{key} = "{value}"' for key, value in values.items())
    path = deployment.folder / "curator" / "curator.toml"
    if "ledger" in values and not (path.parent / values["ledger"]).exists():
        Ledger.create(path.parent / values["ledger"]).close()
    path.write_text(f"{text}\nowners = [{names}]\n")
    return path.parent


def here(deployment, names, **more):
    """The same run in this process."""
    data = deployment.folder / "data"
    return dpsumm.summarize(
        {name: data / f"{name}.csv" for name in names},
        data / "target.csv",
        size=12,
        schema=SCHEMA,
        **more,
    )


def assert_same(frame, summary):
    np.testing.assert_array_equal(frame.select(list(BOUNDS)).to_numpy(), summary.points)
    assert frame["owner"].to_list() == [summary.names[i] for i in summary.owner]
    assert frame["index"].to_list() == summary.index.tolist()


def count_answers(books, step, owner="%"):
    """Answers in the journal beside a ledger."""
    path = books.with_name(books.name + ".answers")
    if not path.exists():
        return 0
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        (count,) = db.execute(
            "SELECT count(*) FROM answers WHERE step = ? AND owner LIKE ?", (step, owner)
        ).fetchone()
    except sqlite3.OperationalError:  # no table yet
        count = 0
    finally:
        db.close()
    return count


def received(deployment, name):
    """What arrived at an owner, a line for each exchange."""
    path = deployment.folder / f"{name}.received"
    return path.read_text().splitlines() if path.exists() else []


def transcript(deployment, name):
    """The same, and forget it."""
    lines = received(deployment, name)
    (deployment.folder / f"{name}.received").unlink(missing_ok=True)
    return lines


def last_asked(deployment, name):
    """All requests of the latest exchange, which repeats those before it; forgets them."""
    return json.loads(transcript(deployment, name)[-1])["messages"]
