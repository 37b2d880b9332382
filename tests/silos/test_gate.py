"""The owner's rules through both apps, in one process: who may ask, for what, how much, and when
nothing is answered at all.
"""

import json
import re
import sqlite3
import tomllib
from datetime import timedelta

import polars as pl
import pytest
from deployment import SCHEMA, allow_all, make_data
from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity
from in_process import Grid, run

from dpsumm import __version__
from dpsumm.errors import InvalidParameterError, ProtocolError, RefusedError
from dpsumm.exchange.codec import kind_of
from dpsumm.exchange.messages import Describe
from dpsumm.exchange.signatures import SigningKey, is_signed
from dpsumm.exchange.statements import SIGNED, Statement, digest_of, ending
from dpsumm.flower.gate import admitted, open_receipts, read_policy
from dpsumm.flower.packing import pack, unpack
from dpsumm.flower.settings import NodeConfig
from dpsumm.flower.trial import make_trial
from dpsumm.privacy import Ledger
from dpsumm.summary.protocols.messages import DrawRequest
from dpsumm.summary.protocols.wire import encode

PARTIES = ("east", "north", "west")


class Trial:
    """A trial of summaries, run in this process; north's policy is the test's to change."""

    def __init__(self, folder):
        make_data(folder / "data", PARTIES)
        SCHEMA.save(folder / "schema.toml")
        self.folder = make_trial(
            folder / "trial", PARTIES, data=folder / "data", schema=folder / "schema.toml"
        )
        project = tomllib.loads((self.folder / "app" / "pyproject.toml").read_text())
        public = {"size": 12, "timeout": 60.0, "purpose": "trial"}
        self.config = {**project["tool"]["flwr"]["app"]["config"], **public}
        self.nodes = [tomllib.loads((self.folder / n / "node.toml").read_text()) for n in PARTIES]
        self.policy = self.folder / "north" / "policy.toml"

    def change(self, pattern, new):
        """Change north's rules."""
        text, count = re.subn(pattern, new, self.policy.read_text())
        assert count == 1
        self.policy.write_text(text)

    def curator(self, **values):
        """Change the curator's settings."""
        path = self.folder / "curator" / "curator.toml"
        settings = {**tomllib.loads(path.read_text()), **values}
        text = [f"{k} = {json.dumps(v)}\n" for k, v in settings.items() if v is not None]
        path.write_text("".join(text))

    def run(self, **public):
        return run(self.nodes, {**self.config, **public})

    def owners(self):
        return set(pl.read_parquet(self.folder / "curator" / "summary.parquet")["owner"])

    def log(self, name="north"):
        with open_receipts(read_policy(self.folder / name / "policy.toml")) as receipts:
            assert receipts.fault() is None
            return [line for line, _ in receipts.lines()]


@pytest.fixture
def trial(tmp_path, monkeypatch):
    monkeypatch.setenv("DPSUMM_CURATOR", str(tmp_path / "trial" / "curator" / "curator.toml"))
    return Trial(tmp_path)


def test_what_is_allowed_is_answered_and_signed_for(trial):
    trial.run()
    assert trial.owners() <= set(PARTIES)
    made, described, offered = trial.log()
    assert [made.outcome, described.outcome, offered.outcome] == ["made", "answered", "answered"]
    assert (described.records, offered.consumer, offered.purpose) == (0, "trial", "trial")
    assert offered.records == offered.counted > 0
    # The consumer's signature is under what it claimed: it can be shown to others.
    key = SigningKey(trial.folder / "curator" / "consumer.key").public
    claim = Statement.parse(offered.claim.encode())
    assert (claim.party, claim.task, claim.run) == ("north", "summarize", "trial-1")
    signature = bytes.fromhex(offered.signature)
    assert is_signed(SIGNED + offered.claim.encode(), signature, key)
    assert not is_signed(SIGNED + offered.claim.encode() + b" ", signature, key)


def refused(trial, words, **public):
    """Run; north refuses in these words, to the curator and in its log, and counts nothing."""
    before = sum(line.counted for line in trial.log())
    grid = trial.run(**public)
    (told,) = set(grid.told)
    assert re.search(words, told), told
    assert str(trial.folder) not in told
    assert "north" not in trial.owners()
    lines = trial.log()
    assert lines[-1].outcome == "refused"
    assert sum(line.counted for line in lines) == before
    return told, lines[-1]


@pytest.mark.parametrize(
    ("pattern", "new", "words"),
    [
        ("version = .*", 'version = "9.9"', "the dpsumm on this node is not the one"),
        ("package = .*", f'package = "{64 * "0"}"', "the dpsumm on this node is not the one"),
        ("protocols = .*", 'protocols = ["summarize/auction/1"]',
         "does not allow this run's protocol. It allows summarize/auction/1"),
        (r"purposes = .*", 'purposes = ["care"]', "the purpose 'trial' is not one"),
        ("key = .ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI.", 'key = "ssh-ed25519 AAAAC3NzaC1lZDI1'
         'NTE5AAAAI_', "no consumer that this node's policy names has signed"),
        ("key = .receipts", 'records-per-day = 3\nkey = "receipts', "more records were asked for"),
        ("records = .*", "records = 3", "more records were asked for"),
        ("purposes", "records = 3\npurposes", "more records were asked for"),
    ],
    ids=["version", "package", "protocol", "purpose", "consumer", "day", "ever", "consumer's"],
)  # fmt: skip
def test_what_a_rule_forbids_is_refused_and_logged(trial, pattern, new, words):
    new = new.replace("_", "A" if "AAAAIB" in trial.policy.read_text() else "B")
    trial.change(pattern, new)
    told, line = refused(trial, words)
    if "more records" in words:
        # Which limit, and how much of it others have had, is for the owner alone.
        assert not re.search(r"\d", told.partition("policy")[2])
        assert "at most 3" in line.why
        assert line.consumer == "trial"


def test_the_curator_reads_the_refusal_in_its_notes(trial, caplog):
    trial.change("purposes = .*", 'purposes = ["care"]')
    trial.run()
    assert "refused by the owner's policy: the purpose 'trial' is not one" in caplog.text


def test_a_limit_that_is_just_enough(trial):
    trial.run()
    sent = trial.log()[-1].records
    trial.change("records = .*", f"records = {2 * sent}")
    trial.curator(run="second")
    trial.run()
    assert sum(line.counted for line in trial.log()) == 2 * sent
    # The same run again, as after a death: everybody is asked again, nothing is counted.
    (trial.folder / "curator" / "books.db.answers").unlink()
    trial.run()
    assert trial.log()[-1].outcome == "again"
    assert sum(line.counted for line in trial.log()) == 2 * sent
    # One more is too many.
    trial.curator(run="third")
    refused(trial, "more records were asked for")


def test_a_consumer_that_is_renamed_keeps_its_count(trial):
    trial.run()
    sent = trial.log()[-1].counted
    trial.change("purposes", f"records = {sent}\npurposes")
    trial.change(r"consumers\..*\]", "consumers.clinic]")
    trial.curator(run="second")
    _, line = refused(trial, "more records were asked for")
    assert line.why == f"consumers.clinic.records would be {2 * sent}, at most {sent}"


def test_the_auction_is_counted_over_its_rounds(trial):
    with pytest.raises(ProtocolError, match="does not allow this run's protocol"):
        trial.run(protocol="auction", batch=6)  # no first policy does
    allow_all(trial.folder)
    grid = trial.run(protocol="auction", batch=6, requests="all")
    assert grid.told == []
    by_name = {name: sum(line.counted for line in trial.log(name)) for name in PARTIES}
    frame = pl.read_parquet(trial.folder / "curator" / "summary.parquet")
    counts = dict(frame.group_by("owner").len().iter_rows())
    # Each round's bids count as all records, and what was sent besides.
    for name in PARTIES:
        n = len(pl.read_csv(trial.folder.parent / "data" / f"{name}.csv"))
        bids = [line for line in trial.log(name) if line.records == n]
        assert len(bids) >= 2
        assert by_name[name] >= n * len(bids) + counts.get(name, 0)
    trial.curator(run="second")
    trial.change("protocols = .*", 'protocols = ["summarize/offers/2"]')
    with pytest.raises(ProtocolError, match="does not allow this run's protocol"):
        trial.run(protocol="auction", batch=6)


def test_a_request_that_nobody_signed_is_refused(trial):
    trial.curator(key=None)
    with pytest.raises(ProtocolError, match="answers signed requests alone"):
        trial.run(purpose="")
    line = trial.log()[-1]
    assert (line.outcome, line.consumer, line.claim) == ("refused", "", "")


@pytest.fixture
def asked(trial):
    """Ask north by hand; return what it says."""
    key = SigningKey(trial.folder / "curator" / "consumer.key")

    def ask(messages, *, signed=None, sign=key.sign, **changes):
        TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 1
        given = {
            "key": key.public,
            "party": "north",
            "task": "summarize",
            "run": "r",
            "purpose": "trial",
            "version": __version__,
            "asked": digest_of(messages),
            "until": ending(),
        }
        claim = Statement(**{**given, **changes}).to_bytes() if signed is None else signed
        grid = Grid({1: trial.nodes[1]}, trial.config)
        message = Message(pack(messages, "", claim, sign(SIGNED + claim)), 1, "query")
        message.metadata.__dict__["_message_id"] = "1"
        reply = grid.reply(message, 1, None)
        return grid.told[0] if grid.told else unpack(reply.content).messages[0]

    return ask


DESCRIBE = encode(Describe())


def test_a_signature_is_for_its_messages_party_and_version(trial, asked, tmp_path):
    stranger = SigningKey.make(tmp_path / "stranger")
    assert kind_of(asked([DESCRIBE])) == "Description"
    (trial.folder.parent / "data" / "north.csv").unlink()  # nothing is read to refuse
    for given, words in (
        ({"asked": digest_of([b"x"])}, "for other messages"),
        ({"party": "east"}, "signed for 'east'"),
        ({"task": "learn"}, "signed for 'north' to learn"),
        ({"version": "0.0.1"}, "is of dpsumm 0.0.1"),
        ({"until": ending(timedelta(seconds=-1))}, "the signature has ended"),
        ({"until": ending().replace("2", "3", 1)}, "holds for more than 31 days"),
        ({"until": "tomorrow"}, "the signature has ended"),
        ({"until": ending()[:19]}, "the signature has ended"),
        ({"sign": stranger.sign}, "no consumer"),
        ({"key": stranger.public, "sign": stranger.sign}, "no consumer"),
        ({"sign": lambda data: b""}, "no consumer"),
        ({"sign": lambda data: b"x" * 10**5}, "no consumer"),
        ({"signed": b"garbage"}, "what was signed cannot be read"),
        ({"purpose": "\x1b[2Jtrial"}, "must be printable"),
        ({"purpose": "x" * 501}, "at most 500 characters"),
    ):
        assert words in asked([DESCRIBE], **given)
        assert trial.log()[-1].outcome == "refused"
    # It is believed no further than it is signed.
    assert trial.log()[-5].consumer == ""


def test_a_request_that_comes_twice_at_once_is_answered_once(trial):
    """Both are let in before either is answered: the log decides."""
    key = SigningKey(trial.folder / "curator" / "consumer.key")
    claim = Statement(
        key=key.public, party="north", task="summarize", run="r", purpose="trial",
        version=__version__, asked=digest_of([DESCRIBE]), until=ending(),
    ).to_bytes()  # fmt: skip
    packed = unpack(pack([DESCRIBE], "", claim, key.sign(SIGNED + claim)))
    config = NodeConfig.read(trial.nodes[1], "summarize")
    with admitted(config, packed) as one, admitted(config, packed) as two:
        one(b"first answer", 5)
        with pytest.raises(RefusedError, match="this signature was used before"):
            two(b"second answer", 5)
    assert [(line.outcome, line.counted) for line in trial.log()[-2:]] == [
        ("answered", 5), ("refused", 0),
    ]  # fmt: skip


def test_a_request_that_somebody_kept_is_answered_once(trial, asked):
    """Whoever runs the SuperLink sees what is signed, and could send it again."""
    kept = {"until": ending()}
    assert kind_of(asked([DESCRIBE], **kept)) == "Description"
    assert "this signature was used before" in asked([DESCRIBE], **kept)
    assert trial.log()[-1].outcome == "refused"
    assert kind_of(asked([DESCRIBE])) == "Description"  # signed anew, as in a resumed run


def test_a_new_run_s_name_gives_no_more_records(trial):
    trial.run()
    sent = trial.log()[-1].counted
    trial.change("key = .receipts", f'records-per-day = {2 * sent - 1}\nkey = "receipts')
    trial.curator(run="second")
    _, line = refused(trial, "more records were asked for")
    assert line.why == f"records-per-day would be {2 * sent}, at most {2 * sent - 1}"


def test_records_cannot_be_drawn_outside_a_protocol(trial, asked):
    """A curator that speaks no protocol could draw other rows each time."""
    assert "does not allow this run's protocol" in asked([encode(DrawRequest(3))])
    assert "does not allow" in asked([DESCRIBE, encode(DrawRequest(3))])
    assert trial.log()[-1].records == 0


def test_what_cannot_be_answered_is_in_the_log_too(trial, asked):
    assert "there must be messages" in asked([])
    assert "not a dpsumm message" in asked([b"garbage"])
    (trial.folder.parent / "data" / "north.csv").unlink()
    assert "north.csv" not in asked([DESCRIBE])
    assert [line.outcome for line in trial.log()][1:] == ["failed"] * 3


@pytest.mark.parametrize("what", ["policy", "key", "log", "log removed", "seal", "policy removed"])
def test_a_node_that_cannot_count_answers_nothing(trial, asked, what, caplog):
    north = trial.folder / "north"
    match what:
        case "policy":
            trial.change("records = .*", "records = -1")
        case "policy removed":
            trial.policy.unlink()
        case "key":
            (north / "receipts.key").write_text("x")
        case "log removed":
            (north / "receipts.db").unlink()
        case "seal":
            # Not the last one, by which the rules' counts are vouched for.
            assert kind_of(asked([DESCRIBE])) == "Description"
            with sqlite3.connect(north / "receipts.db") as db:
                db.execute("UPDATE receipts SET seal = x'00' WHERE number = 1")
            db.close()
        case "log":
            with sqlite3.connect(north / "receipts.db") as db:
                db.execute("UPDATE receipts SET body = replace(body, 'made', 'nade')")
            db.close()
    # Before anything of the owner's is read.
    (trial.folder.parent / "data" / "north.csv").unlink()
    told = asked([DESCRIBE])
    assert "cannot use its policy or its log and answers nothing" in told
    assert str(trial.folder) not in told
    assert "records" not in told
    # The owner's own log names what is wrong, with the path.
    assert str(north) in caplog.text


def test_without_a_policy_a_node_answers_as_before(trial):
    trial.nodes[1] = {**trial.nodes[1], "max-points": 100}
    del trial.nodes[1]["policy"]
    assert trial.run().told == []
    assert len(trial.log()) == 1
    trial.curator(key=None, run="unsigned")
    assert len(trial.run(purpose="").told) == 2  # east and west have theirs
    trial.nodes[1]["max-points"] = 3
    trial.curator(run="third")
    with pytest.raises(ProtocolError, match=r"raise its limit \(max-points\)"):
        trial.run(purpose="")


def test_a_curator_signs_for_a_purpose_and_says_none_without_a_key(trial):
    with pytest.raises(InvalidParameterError, match="purpose is missing"):
        trial.run(purpose="")
    trial.curator(key=None)
    with pytest.raises(InvalidParameterError, match="purpose is told with a signature"):
        trial.run()
    trial.curator(key="server.key")
    with pytest.raises(InvalidParameterError, match=r"server\.key is no Ed25519 key"):
        trial.run()
    with Ledger(trial.folder / "curator" / "books.db") as book:
        assert len(book.charges()) == 0


def test_the_log_of_an_owner_does_not_vouch_for_the_answer_of_another_run(trial):
    """Whoever runs the SuperLink can put an older answer in place of the owner's own."""
    kept = []

    def keep(reply):
        kept.append(unpack(reply.content).messages[0])
        return reply

    def put(reply):
        told = unpack(reply.content).messages[0]
        if kind_of(told) == "Points":
            reply.content = pack([old])
        return reply

    (north,) = (node for node in trial.nodes if node["name"] == "north")
    run(trial.nodes, trial.config, faults={"north": keep})
    (old,) = (data for data in kept if kind_of(data) == "Points")
    assert "north" in trial.owners()
    assert north["policy"] == str(trial.policy)
    trial.curator(run="second")
    run(trial.nodes, trial.config, faults={"north": put})
    assert "north" in trial.owners()
    first, second = (line for line in trial.log() if line.records)
    # Another run's line is of another answer.
    assert (first.run, second.run) == ("trial-1", "second")
    assert first.answer != second.answer
