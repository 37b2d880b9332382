"""The driver of one process carries messages between roles, and has no protocol logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from dpsumm.basics.visible import logger
from dpsumm.errors import ProtocolError
from dpsumm.exchange.roles import Coordinator, Party, Result_co

_log = logger(__name__)

# Told (stage, done, total) as a run goes on.
Progress = Callable[[str, int, int], None]


def run_in_process(
    coordinator: Coordinator[Result_co],
    parties: Mapping[str, Party],
    progress: Progress | None = None,
) -> Result_co:
    """Run a protocol to its end, all parties in this process."""
    tell = progress or (lambda stage, done, total: None)
    asking, answering, ending = coordinator.stages
    # Not who is asked: that may depend on records.
    exchange = count(1)
    _log.debug("%s", asking)
    tell(asking, 0, 1)
    requests = coordinator.send()
    tell(asking, 1, 1)
    while requests:
        _log.debug("exchange %d", next(exchange))
        if strangers := requests.keys() - parties.keys():
            raise ProtocolError(f"requests to {sorted(strangers)}, who take no part in the run")
        for done, (name, request) in enumerate(requests.items(), 1):
            coordinator.receive(name, parties[name].answer(request))
            tell(answering, done, len(requests))
        requests = coordinator.send()
    _log.debug("%s", ending)
    tell(ending, 0, 1)
    result = coordinator.result()
    tell(ending, 1, 1)
    return result
