"""The one in-process engine: carries messages between roles, contains no protocol logic."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import count

from dpsumm.summary.protocols.curator import Curator, Selection
from dpsumm.summary.protocols.owner import Owner

_log = logging.getLogger(__name__)

# Told (stage, done, total) as a run goes on.
Progress = Callable[[str, int, int], None]


def run_in_process(
    curator: Curator, owners: Mapping[str, Owner], progress: Progress | None = None
) -> Selection:
    """Run a protocol to its end, all parties in this process.

    Parameters
    ----------
    curator
        Fresh, for the owners named.
    owners
        Name to role.
    progress
        Called after each answer and around the selection.
    """
    tell = progress or (lambda stage, done, total: None)
    # Not who is asked: under the Auction that depends on records.
    exchange = count(1)
    _log.debug("release")
    tell("release", 0, 1)
    requests = curator.send()
    tell("release", 1, 1)
    while requests:
        _log.debug("exchange %d", next(exchange))
        for done, (name, request) in enumerate(requests.items(), 1):
            curator.receive(name, owners[name].answer(request))
            tell("owners", done, len(requests))
        requests = curator.send()
    _log.debug("selection")
    tell("selection", 0, 1)
    selection = curator.select()
    tell("selection", 1, 1)
    return selection
