"""What a run is asked for: refused here if no run can have it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from dpsumm.checks import check_whole
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.seeds import check_seed
from dpsumm.summary.kernel import RBF, Kernel, PrivateMedian
from dpsumm.summary.protocols import Protocol
from dpsumm.summary.protocols.choose import choose_protocol
from dpsumm.summary.words import Name


def check_run(
    size: int, epsilon: float, delta: float, protocol: object, seed: int | None, ledger: object
) -> Protocol:
    """Return the protocol that is meant, also by its name; refuse what no run can have."""
    check_whole(size, "size", 1)
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    names = [one.value for one in Name]
    protocol = Name.OFFERS.value if protocol is None else protocol
    if isinstance(protocol, str) and protocol in names:
        protocol = choose_protocol(Name(protocol), size)
    if not isinstance(protocol, Protocol):
        kind = protocol if isinstance(protocol, type) else type(protocol)
        shown = repr(protocol) if isinstance(protocol, str) else kind.__name__
        raise InvalidParameterError(
            f"protocol must be one of {', '.join(names)}, or an instance such as Offers() or of "
            f"another dpsumm.summary.Protocol, got {'the class ' * (kind is protocol)}{shown}"
        )
    for attribute in ("name", "owners_argument"):
        if not isinstance(getattr(protocol, attribute, None), str):
            raise InvalidParameterError(
                f"protocol: {type(protocol).__name__}.{attribute} must be a text, see "
                "dpsumm.summary.Protocol"
            )
    check_seed(seed, ledger)
    return protocol


def held_to(names: Iterable[str], size: int, protocol: Protocol, schema: Schema) -> dict[str, str]:
    """Return the public settings that a run's name stands for; see `Ledger.hold_to`.

    They say who receives the release and what is asked of them. What the release is made with is
    bound to it already.
    """
    return {
        "owners": json.dumps(sorted(names)),
        "size": str(int(size)),
        # Without addresses, which are others in every process: a class of somebody else's may have
        # no repr of its own.
        "protocol": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(protocol)),
        "schema": schema.fingerprint,
    }


def settle_kernel(kernel: Kernel | None, schema: Schema) -> Kernel:
    """Return the kernel given, or the default for the schema."""
    if kernel is None:
        return RBF.for_schema(schema) if schema.bounded else PrivateMedian()
    if not isinstance(kernel, Kernel):
        raise InvalidParameterError(
            f"kernel must be RBF(gamma) or PrivateMedian(share), got {type(kernel).__name__}"
        )
    return kernel
