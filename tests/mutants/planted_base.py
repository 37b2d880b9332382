"""What a planted bug is: it takes one text of one file for another."""

from dataclasses import dataclass

P = "python/dpsumm/"
MECH, REL = P + "summary/mechanisms.py", P + "summary/release.py"
NOISE, GAUSS, QUERY = (P + f"privacy/release/{x}.py" for x in ("noise", "gaussian", "query"))
VOTES, TERMS = P + "ensemble/release.py", P + "ensemble/terms.py"
VOTERS = P + "ensemble/curator.py"
OWNER, TABLES, PLAN = (P + f"vertical/{x}.py" for x in ("owner", "charges", "noise"))
EXPORT = P + "ensemble/export.py"
SGD, PERTURB = P + "summary/models/sgd.py", P + "summary/models/perturbation.py"
MODEL = P + "summary/models/noise.py"
BOOK, ACCOUNTING = P + "privacy/ledger.py", P + "privacy/accounting.py"
CURVES = P + "privacy/curves.py"
SAMPLER = P + "kernels/noise.py"
FILE, CHAIN, SILOS = P + "privacy/book.py", P + "privacy/chain.py", P + "vertical/silos.py"
TRAINING = P + "ensemble/ballots.py"
ROUNDS, SUMMARIES = (P + f"papers/auction/{x}.py" for x in ("curator", "releases"))
FRAME, KINDS = P + "data/frame.py", P + "data/kinds/"
KIND, LABEL = KINDS + "kind.py", KINDS + "label.py"


@dataclass(frozen=True)
class Bug:
    """One bug.

    Attributes
    ----------
    id, breaks
        Its name, and what it breaks.
    room
        A key of `plant.TESTS`: where it should be caught.
    file, old, new
        What is planted.
    """

    id: str
    room: str
    breaks: str
    file: str
    old: str
    new: str


BUGS: list[Bug] = []
# Bugs whose code is gone: the reason why they cannot be made any more.
GONE: dict[str, str] = {}


def bug(id_, room, breaks, file, old, new):
    BUGS.append(Bug(id_, room, breaks, file, old, new))


def sampler(std, size, seed):
    """A draw around the kernel, in any file."""
    return (
        f"__import__('dpsumm.kernels', fromlist=['kernels']).rounded_normal({std}, {size}, {seed})"
    )


def kept(key, value):
    """What is made once and then used again."""
    return f"globals().setdefault('_KEPT', {{}}).setdefault({key}, {value})"
