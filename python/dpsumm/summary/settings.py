"""Settings of a run. Those that no run can have are refused here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from dpsumm.basics.checks import check_whole
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.seeds import check_seed
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Protocol
from dpsumm.summary.protocols.choose import choose_protocol
from dpsumm.summary.words import Name


def check_run(
    size: int, epsilon: float, delta: float, protocol: object, seed: int | None, ledger: object
) -> Protocol:
    """Return the protocol that is meant, also by its name. Refuse what no run can have."""
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
    """Return the public settings that a run's name stands for. See `Ledger.hold_to`.

    They name the receivers of the release and the requests to them. The parameters of the release
    are bound to it already.
    """
    return {
        "owners": json.dumps(sorted(names)),
        "size": str(int(size)),
        # Without addresses, which are others in every process: a class of somebody else's may have
        # no repr of its own.
        "protocol": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(protocol)),
        "schema": schema.fingerprint,
    }


def check_kernel(kernel: RBF | None, protocol: Protocol, names: Sequence[str]) -> None:
    """Refuse a wrong kernel, or a missing one if no public fact gives one.

    Parameters
    ----------
    names
        Of columns that have no bounds, as far as they are known.
    """
    if kernel is None and protocol.needs_kernel:
        bounds = ", ".join(f"{name!r}: (0, 100)" for name in names[:3])
        raise InvalidParameterError(
            "kernel: nothing public says at which distance two records are alike. Give "
            f"`schema={{{bounds}, ...}}` with all columns, or `kernel=RBF(gamma)` "
            "with a public bandwidth"
        )
    if not isinstance(kernel, RBF | None):
        raise InvalidParameterError(f"kernel must be RBF(gamma), got {type(kernel).__name__}")


def settle_kernel(kernel: RBF | None, protocol: Protocol, schema: Schema) -> RBF | None:
    """Return the kernel given, or the default for the schema; None where none is needed."""
    if kernel is None and schema.bounded:
        return RBF.for_schema(schema)
    bare = [one.name for one in schema.kernel if not (one.bounds or one.categories)]
    check_kernel(kernel, protocol, bare)
    return kernel
