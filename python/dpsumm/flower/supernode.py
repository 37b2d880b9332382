"""`flower-supernode` under the owner's policy: ``python -m dpsumm.flower.supernode``, same options.

Flower runs any app that the SuperLink sends. Here, where the node's configuration names a policy,
an app is looked at before any of its code runs: only dpsumm's own is taken, another one is refused
and its curator told so. The policy is read, and the log and the installed package looked at, before
the node connects.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from logging import INFO, WARNING
from typing import Any

from flwr.supercore.fab import Fab
from flwr.supernode import start_client_internal as client
from flwr.supernode.cli.flower_supernode import _parse_supernode_lifespan_config, flower_supernode

from dpsumm.basics.visible import logger
from dpsumm.errors import DpsummError, InvalidDataError, InvalidParameterError
from dpsumm.flower.gate import differs, open_receipts, read_policy
from dpsumm.flower.project import is_own_app
from dpsumm.flower.settings import USUAL_TASK, NodeConfig
from dpsumm.flower.tasks import task_of

log = logger("flwr").log

_NO_POLICY = (
    "dpsumm: this node has no policy. It runs whatever app the curator's SuperLink sends, for any "
    "purpose, in any number of runs, each of which may take max-points records, and keeps no "
    "receipts. Name a policy in the node configuration (policy)"
)


def check_node(settings: Mapping[str, Any]) -> bool:
    """Look at a node's configuration and its policy before it connects. Say what will hold.

    Returns
    -------
    Whether it has a policy. Without one it runs any app.
    """
    config = NodeConfig.read(settings, str(settings.get("task", USUAL_TASK)))
    task_of(config.task).check(config)
    if config.policy is None:
        log(WARNING, _NO_POLICY)
        return False
    policy = read_policy(config.policy)
    if difference := differs(policy):
        raise InvalidParameterError(f"{config.policy}: {difference}")
    with open_receipts(policy) as receipts:
        if wrong := receipts.fault():
            raise InvalidDataError(f"receipts: {policy.receipts}: {wrong}")
        sent = sum(line.counted for line, _ in receipts.lines())
    log(
        INFO,
        "dpsumm: policy %s: %d of %d records have left; %s may ask, for %s",
        config.policy,
        sent,
        policy.records,
        ", ".join(one.name for one in policy.consumers),
        ", ".join(sorted(policy.protocols)),
    )
    return True


def refuse_other_apps() -> None:
    """Let this process take dpsumm's own apps alone.

    Flower has a place where it refuses apps without a trusted signature. This now checks whether
    the app is dpsumm's.
    """
    for name in ("_pull_and_store_message", "_verify_fab"):
        if not hasattr(client, name):
            sys.exit(f"this version of Flower has no {name} to refuse apps in; use flwr 1.42")
    pull = client._pull_and_store_message

    def pull_checked(*, get_fab: Callable[[str, int], Fab], **given: Any) -> Any:
        def get_marked(fab_hash: str, run_id: int) -> Fab:
            # Without the mark Flower refuses before it asks.
            return dataclasses.replace(
                get_fab(fab_hash, run_id), verifications={"valid_license": "dpsumm"}
            )

        return pull(**{**given, "get_fab": get_marked, "trusted_entities": {"dpsumm": ""}})

    def verify(fab: Fab, _: object) -> bool:
        own = is_own_app(fab.content)
        if not own:
            log(WARNING, "dpsumm: refused an app that is not dpsumm's own")
        return own

    client._pull_and_store_message, client._verify_fab = pull_checked, verify


def main() -> None:
    """Check the node, then be `flower-supernode`."""
    config = _parse_supernode_lifespan_config()
    try:
        has_policy = check_node(config.node_config)
    except DpsummError as error:
        sys.exit(f"dpsumm: {error}")
    if has_policy:
        refuse_other_apps()
    flower_supernode()


if __name__ == "__main__":
    main()
