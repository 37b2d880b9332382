"""The registers behind dossiers: every message and every charge has an entry, and entries are true
to names that exist elsewhere."""

import ast
import dataclasses
import importlib
import re
from pathlib import Path

import pytest

from dpsumm.audit.suite import audits
from dpsumm.ensemble.about import ABOUT as VOTES
from dpsumm.exchange.disclosure import Disclosure, Reveals
from dpsumm.exchange.messages import Answer, Request
from dpsumm.privacy.claims import Claim, claim_of
from dpsumm.privacy.events import Charge, Protected, Pure
from dpsumm.summary.about import ABOUT as POINTS
from dpsumm.summary.protocols import Protocol
from dpsumm.summary.protocols.choose import choose_protocol
from dpsumm.summary.words import Name
from dpsumm.vertical.about import ABOUT as ROWS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "dpsumm"
ALL = (POINTS, VOTES, ROWS)


def below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def messages():
    """All messages of the package: of every module that knows what a message is."""
    for path in PACKAGE.rglob("*.py"):
        if "exchange.messages" in path.read_text("utf-8"):
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            importlib.import_module(name.removesuffix(".__init__"))
    return {
        kind
        for kind in (*below(Request), *below(Answer))
        if kind.__module__.startswith("dpsumm.") and dataclasses.is_dataclass(kind)
    }


def without_entry(kinds):
    """Names of messages without an entry of their own; one inherited speaks of another message."""
    return sorted(
        kind.__name__ for kind in kinds if not isinstance(vars(kind).get("disclosure"), Disclosure)
    )


def test_every_message_has_an_entry():
    kinds = messages()
    assert len(kinds) >= 25
    assert without_entry(kinds) == []


def test_a_message_without_an_entry_is_noticed():
    offer = next(kind for kind in messages() if kind.__name__ == "OfferRequest")

    @dataclasses.dataclass(frozen=True)
    class Thanks(offer):
        """Tells an owner something, and the register nothing."""

    assert without_entry([Thanks]) == ["Thanks"]


# Answers that count as no record although no charge pays for them, each by a claim of its own.
FREE = {
    Reveals.HIDDEN: {"Joined", "MaskedRows"},
    Reveals.PUBLIC: {"Description", "Dealt"},
}


def free_of_charge(kinds):
    """Names of answers that would leave uncounted: no charge and no claim covers them."""
    return sorted(
        kind.__name__
        for kind in kinds
        if issubclass(kind, Answer)
        and vars(kind).get("revealed", Answer.revealed) is Answer.revealed
        and not (kind.disclosure and kind.disclosure.reveals in (Reveals.ALL, Reveals.SENT))
        and not (
            kind.disclosure.releases
            if kind.disclosure.reveals is Reveals.CHARGED
            else kind.__name__ in FREE.get(kind.disclosure.reveals, ())
        )
    )


def test_every_answer_says_of_how_many_records_it_tells():
    answers = {kind for kind in messages() if issubclass(kind, Answer)}
    assert len(answers) >= 12
    assert [kind for kind in answers if kind.disclosure.reveals is None] == []
    assert free_of_charge(answers) == []
    # Who carries records counts them; else the count is of the sender's records, whatever it holds.
    sent = {kind for kind in answers if kind.disclosure.reveals is Reveals.SENT}
    assert sent == {kind for kind in answers if kind.revealed is not Answer.revealed}
    assert {kind.__name__ for kind in answers if kind.disclosure.reveals is Reveals.ALL} == {
        "Bids", "Classifiers", "Update", "Votes",
    }  # fmt: skip


@pytest.mark.parametrize("reveals", [Reveals.CHARGED, Reveals.HIDDEN, Reveals.PUBLIC])
def test_an_answer_that_depends_on_records_and_counts_as_none_is_noticed(reveals):
    bids = next(kind for kind in messages() if kind.__name__ == "Bids")

    class Uncounted(bids):
        disclosure = dataclasses.replace(bids.disclosure, reveals=reveals)

    assert Uncounted((), ()).revealed(9) == 0
    assert free_of_charge([Uncounted]) == ["Uncounted"]
    assert bids((), ()).revealed(9) == 9


def test_every_message_of_a_codec_is_in_a_dossier_of_some_protocol():
    shown = {
        id(entry)
        for about in ALL
        for protocol in about.protocols
        for _, entry in about.messages(protocol)
    }
    assert [kind.__name__ for kind in messages() if id(kind.disclosure) not in shown] == []


def protocols():
    """All protocols that the package ships, by their classes and as the command line makes them."""
    shipped = {kind.name for kind in below(Protocol) if kind.__module__.startswith("dpsumm.")}
    return shipped, {choose_protocol(name, 4).name for name in Name}


def test_a_dossier_knows_every_protocol_by_the_name_that_its_run_records():
    shipped, chosen = protocols()
    assert len(shipped) >= 5
    assert chosen <= shipped == set(POINTS.protocols)
    for name in shipped:
        assert POINTS.audits[name]
        requests = {told for told, entry in POINTS.messages(name) if entry.sender == "curator"}
        assert requests & {"OfferRequest", "BidRequest", "DrawRequest"}, name


@pytest.mark.parametrize("about", ALL, ids=lambda about: about.name.partition(":")[0])
def test_entries_name_what_exists(about):
    entries = [kind.type.disclosure for codec in about.codecs for kind in codec.kinds]
    entries += [entry for each in about.beside.values() for _, entry in each]
    begins = {claim.begins for claim in about.claims}
    for entry in entries:
        assert set(entry.protocols) <= set(about.protocols)
        assert set(entry.releases) <= begins
        assert all(dataclasses.astuple(entry)[:6])
    assert {*about.audits, *about.beside} <= set(about.protocols)
    for page in (one.page for one in (*entries, *about.claims)):
        assert heading_is_there(page), page


def heading_is_there(page):
    name, _, anchor = page.partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / name).read_text("utf-8"), re.M)
    # As Markdown's table of contents makes them.
    slugs = {re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-") for text in headings}
    return anchor in slugs


def test_a_heading_that_is_not_there_is_noticed():
    assert heading_is_there("privacy/offers.md#claim")
    assert not heading_is_there("privacy/offers.md#clam")


def test_audits_are_of_the_suite():
    known = {audit.name for audit in audits()}
    for about in ALL:
        named = {name for claim in about.claims for name in claim.audits}
        named |= {name for names in about.audits.values() for name in names}
        assert named <= known
        assert all(claim.audits for claim in about.claims) or about is POINTS


def beginnings(source):
    """How the texts of charges begin, as far as they are written out in a file."""
    found = []
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        given = [keyword.value for keyword in call.keywords if keyword.arg == "message"]
        if name in ("Charge", "charge_of"):
            given += call.args[1:2]
        elif name == "table_sums":
            given += call.args[:1]
        for value in given:
            first = value.values[0] if isinstance(value, ast.JoinedStr) else value
            if isinstance(first, ast.Constant):
                found.append(first.value)
    return found


def test_every_charge_has_a_claim():
    claims = [claim for about in ALL for claim in about.claims]
    found = {
        text
        for path in PACKAGE.rglob("*.py")
        if "audit" not in path.parts
        for text in beginnings(path.read_text("utf-8"))
    }
    assert len(found) >= 9
    for text in found:
        assert claim_of(Charge(Protected.TARGET, text, Pure(1.0)), claims) is not None, text
    # And nothing is registered that is charged nowhere.
    for claim in claims:
        assert any(text.startswith(claim.begins) for text in found), claim.begins


def test_a_charge_without_a_claim_is_noticed():
    assert beginnings('Charge(whose, f"thanks ({n})", event)') == ["thanks ("]
    assert beginnings('release(a, message="thanks")') == ["thanks"]
    claims = (Claim("noisy", "all", "", "", ""),)
    assert claim_of(Charge(Protected.TARGET, "thanks", Pure(1.0)), claims) is None
