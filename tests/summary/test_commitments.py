"""Owners that commit first: tailored data are refused, nothing else changes."""

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsumm
from dpsumm import RBF, Auction, Greedy, Offers, Pool, Uniform
from dpsumm.data.inputs import read_table
from dpsumm.data.leaves import Salts, bytes_of, record_of
from dpsumm.data.openings import root_of, verify_openings
from dpsumm.errors import DpsummError, InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.across import answer_all
from dpsumm.exchange.messages import Description, Expect
from dpsumm.exchange.roles import Party
from dpsumm.privacy import Ledger
from dpsumm.summary.embedding import Embedding
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.committed import CommittingOwner, OpeningCurator, run_mark
from dpsumm.summary.protocols.messages import (
    Commitment,
    CommitRequest,
    DrawRequest,
    OfferRequest,
    OpenedPoints,
    OpenRequest,
    Points,
)
from dpsumm.summary.protocols.wire import decode, encode
from helpers.silo_curator import NAMES, SCHEMA, Loopback, owners_of, run
from reference import merkle

RUN, KEY = "0123456789abcdef" * 2, bytes(range(32))
AUCTION = Auction(batch=3, n_features=16)
PROTOCOLS = [Offers(n_features=32), AUCTION, Pool(), Uniform(), Greedy()]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_the_same_points_with_and_without(protocol, tmp_path):
    data, target = owners_of()
    given = {"size": 9, "protocol": protocol, "kernel": RBF(0.3), "seed": 4}
    without = dpsumm.summarize(data, target, **given)
    made = dpsumm.summarize(data, target, commitments=True, **given)
    assert without.commitments is None
    for name in ("points", "owner", "index", "pool", "pool_owner", "curve"):
        np.testing.assert_array_equal(getattr(made, name), getattr(without, name))
    assert made.mmd2 == without.mmd2
    assert made.privacy.charges == without.privacy.charges
    # Every point read was opened, and anybody can check that.
    opened = {name: len(found) for name, (_, found) in made.commitments.owners.items()}
    assert list(opened.values()) == np.bincount(made.pool_owner, minlength=4).tolist()
    made.commitments.save(tmp_path / "openings.json")
    assert verify_openings(tmp_path / "openings.json", made.commitments.roots) == made.commitments


def test_labels_and_what_travels_along_are_opened():
    rng, columns = np.random.default_rng(1), [dpsumm.Column("a", bounds=(0, 1))]
    columns += [dpsumm.Column("id", "ignore"), dpsumm.Column("y", "label")]
    frames = {}
    for name in "pq":
        ids, labels = [f"{name}{i}" for i in range(40)], rng.integers(0, 3, 40)
        frames[name] = pl.DataFrame({"a": rng.random(40), "id": ids, "y": labels})
    schema, goal = dpsumm.Schema(columns), pl.DataFrame({"a": rng.random(50)})
    made = dpsumm.summarize(frames, goal, size=5, schema=schema, commitments=True)
    for name, (_, openings) in made.commitments.owners.items():
        for one in openings:
            row, values, label, (identifier,) = record_of(one.row)
            given = frames[name].row(row, named=True)
            assert identifier == given["id"] == f"{name}{row}"
            assert (label, values[0]) == (str(given["y"]), given["a"])


def test_embedded_records_are_committed_to():
    data, target = owners_of()
    secret = Embedding.draw(RBF(0.3), 3, 16)
    made = dpsumm.summarize(
        data, target, size=9, embedding=secret, protocol=Pool(), commitments=True
    )
    assert sorted(made.commitments.roots) == sorted(NAMES)


# The attack: an owner that waits for the release, and then makes rows that fit it.


def sites(seed=0):
    rng = np.random.default_rng(seed)

    def site():
        return np.concatenate([rng.normal(-1.5, 1, (1960, 5)), rng.normal(1.5, 1, (40, 5))])

    return {name: site() for name in "abcx"}, rng.normal(1.5, 1, (1000, 5))


class Tailor(Party):
    """Answers the request with rows that it makes when it has seen the request."""

    codec = Owner.codec

    def __init__(self, table):
        self._table = table

    def answer(self, request):
        made = np.random.default_rng(1).uniform(-4, 6, (20_000, 5))
        forged = read_table(made, name=self._table.name).astype(self._table.dtype)
        points = Owner(forged).answer(request)
        # Under the numbers of rows that it has committed to.
        return replace(points, rows=np.arange(len(points)))


@dataclass(frozen=True)
class Attacked(Offers):
    """Offers with one owner that deviates."""

    forger: object = field(default=Tailor)

    def owner(self, table, seed):
        return self.forger(table) if table.name == "x" else super().owner(table, seed)


def test_a_table_tailored_to_the_release_is_refused():
    owners, target = sites()
    given = {"size": 60, "kernel": RBF(0.1), "seed": 3, "protocol": Attacked(n_features=256)}
    forged = dpsumm.summarize(owners, target, **given)
    # Without commitments the made-up rows are taken, and no note says so.
    assert np.count_nonzero(forged.owner == 3) >= 3
    with pytest.raises(ProtocolError, match=r"'x': points are not rows of the table"):
        dpsumm.summarize(owners, target, commitments=True, **given)
    honest = replace(given["protocol"], forger=Owner)
    dpsumm.summarize(owners, target, commitments=True, **(given | {"protocol": honest}))


# One owner's answers, and what becomes of changed ones.


def table_of(rows=20, seed=2):
    return read_table(np.random.default_rng(seed).normal(size=(rows, 3)), name="a", schema=SCHEMA)


def roles(table=None, run=RUN, key=KEY, protocol=None, size=6):
    """A committed owner, and a curator who has asked it."""
    table = table_of() if table is None else table
    owner = CommittingOwner(Owner(table, seed=1), table, lambda: key)
    made = owner.answer(CommitRequest(run))
    book = Ledger(run="r")
    setting = dpsumm.summary.protocols.Setting(
        target=np.random.default_rng(3).normal(size=(30, 3)),
        columns=SCHEMA.names,
        schema=SCHEMA,
        n_records={"a": made.n_records},
        size=min(size, made.n_records),
        epsilon=1.0,
        delta=1e-5,
        kernel=RBF(0.2),
        labelled=False,
        ledger=book,
    )
    protocol = Pool(parsimony=1) if protocol is None else protocol
    curator = OpeningCurator(protocol.curator(setting), run, {"a": made})
    return owner, curator, made


def answered(**more):
    owner, curator, made = roles(**more)
    return curator, owner.answer(curator.send()["a"]), made


def shifted(array):
    return np.roll(array, 1, axis=0)


def bumped(values):
    changed = values.copy()
    changed[2, 1] = np.nextafter(changed[2, 1], 9)
    return changed


TAMPERED = {
    "a value": lambda x: replace(x, values=bumped(x.values)),
    "single precision": lambda x: replace(x, values=x.values.astype(np.float32)),
    "a row number": lambda x: replace(x, rows=x.rows + 1),
    "swapped salts": lambda x: replace(x, salts=shifted(x.salts)),
    "swapped paths": lambda x: replace(x, paths=shifted(x.paths)),
    "swapped rows": lambda x: replace(x, values=shifted(x.values)),
    "another position": lambda x: replace(x, positions=x.positions + 1),
    "one position twice": lambda x: replace(x, positions=np.minimum(x.positions, x.positions[-2])),
    "a position before the first": lambda x: replace(x, positions=x.positions - 100),
    "a position after the last": lambda x: replace(x, positions=x.positions + 10),
    "an opening less": lambda x: replace(x, salts=x.salts[1:]),
    "shorter paths": lambda x: replace(x, paths=x.paths[:, :-32]),
    "paths of another type": lambda x: replace(x, paths=x.paths.astype(np.int64)),
    "no openings": lambda x: x.points,
    "one opening for two": lambda x: replace(
        x,
        values=x.values[[0, 0, *range(2, 6)]],
        salts=x.salts[[0, 0, *range(2, 6)]],
        paths=x.paths[[0, 0, *range(2, 6)]],
    ),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_a_tampered_answer_is_refused_whole(change):
    curator, answer, _ = answered()
    with pytest.raises(ProtocolError, match="answer of 'a'"):
        curator.receive("a", TAMPERED[change](answer))
    assert curator.commitments.owners["a"][1] == ()
    # It was the change: the answer itself is taken.
    curator.receive("a", answer)
    assert len(curator.commitments.owners["a"][1]) == 6


OTHERS = {
    "another table": {"table": table_of(seed=9)},
    "one record of it": {"table": None},
    "another run": {"run": "f" * 32},
    "another key": {"key": bytes(32)},
}


@pytest.mark.parametrize("other", OTHERS)
def test_openings_of_another_tree_are_refused(other):
    curator, answer, _ = answered()
    more = OTHERS[other]
    if other == "one record of it":
        table = table_of()
        values = table.values.copy()
        values[7] += 1
        more = {"table": replace(table, values=values, scaled=values)}
    # The same rows with paths of the other tree, and the other root with these paths.
    _, theirs, root = answered(**more)
    mixed = replace(answer, salts=theirs.salts, paths=theirs.paths)
    if other != "one record of it" or (theirs.paths != answer.paths).any():
        with pytest.raises(ProtocolError, match="not rows of the table"):
            curator.receive("a", mixed)
    replayed = OpeningCurator(roles()[1]._curator, RUN, {"a": root})
    replayed.send()
    with pytest.raises(ProtocolError, match="not rows of the table"):
        replayed.receive("a", answer)


def test_the_root_of_another_run_serves_none_but_that_run():
    table = table_of()
    owner = CommittingOwner(Owner(table, seed=1), table, lambda: KEY)
    old, new = (owner.answer(CommitRequest(run)) for run in ("f" * 32, RUN))
    assert old.root != new.root
    _, curator, _ = roles()
    curator.send()
    checking = OpeningCurator(curator._curator, RUN, {"a": old})
    for mark in ("f" * 32, RUN):
        answer = owner.answer(OpenRequest(mark, DrawRequest(6)))
        with pytest.raises(ProtocolError, match="not rows of the table"):
            checking.receive("a", answer)


def test_a_node_is_taken_for_no_row():
    """A second preimage: a row that spells two hashes, opened with the path above them."""
    curator, answer, made = answered()
    salts, table = Salts(KEY, RUN), table_of()
    leaves = [
        merkle.sha256(b"\x00" + salts.of(i, 1) + row).digest()
        for i, row in enumerate(bytes_of(table))
    ]
    tree = merkle.node_at((merkle.DEPTH, 0), leaves, salts.filler)
    assert made.root == root_of(RUN, SCHEMA.fingerprint, tree)
    # Node (1, 0) as a leaf: left child as the salt, right child for the row, the path from there.
    path = merkle.path_of(0, leaves, salts.filler)[32:]
    for end in (bytes(32), b""):
        forged = np.frombuffer(path + end, np.uint8)
        paths = answer.paths.copy()
        if len(forged) == paths.shape[1]:
            paths[0] = forged
        salt = np.frombuffer(leaves[0], np.uint8)
        bad = replace(answer, paths=paths, salts=np.vstack([salt, answer.salts[1:]]))
        with pytest.raises(ProtocolError, match="not rows of the table"):
            curator.receive("a", bad)


def test_rows_beyond_the_number_that_was_stated_are_refused():
    """So that nobody commits to rows all over the space and states a few."""
    owner, curator, made = roles(table=table_of(40))
    curator.send()
    few = OpeningCurator(curator._curator, RUN, {"a": replace(made, n_records=30)})
    for first, taken in ((24, True), (25, False)):
        rows = np.arange(first, first + 6)
        answer = owner._open(Points(rows, table_of(40).values[rows], None), RUN)
        if taken:
            assert len(few._check("a", answer)) == 6
        else:
            with pytest.raises(ProtocolError, match="among the 30"):
                few.receive("a", answer)


def test_equal_rows_have_leaves_of_their_own():
    table = read_table(np.ones((8, 3)), name="a", schema=SCHEMA)
    curator, answer, _ = answered(table=table)
    curator.receive("a", answer)
    openings = curator.commitments.owners["a"][1]
    assert len({one.salt for one in openings}) == len({one.path for one in openings}) == 6


def test_a_table_of_one_row():
    curator, answer, made = answered(table=table_of(rows=1))
    curator.receive("a", answer)
    assert len(answer.paths) == made.n_records == 1
    empty = table_of().take(np.empty(0, np.int64))
    with pytest.raises(InvalidDataError, match="at least one"):
        CommittingOwner(Owner(empty), empty, lambda: KEY).answer(CommitRequest(RUN))


@given(st.integers(1, 60), st.integers(0, 2**32), st.integers(1, 10))
@settings(max_examples=20)
def test_roots_and_openings_are_those_of_the_slow_twin(rows, seed, size):
    table = table_of(rows, seed)
    curator, answer, made = answered(table=table, size=size)
    curator.receive("a", answer)
    salts = Salts(KEY, RUN)
    leaves = [
        merkle.sha256(
            b"\x00" + salts.of(i, 1) + merkle.row_bytes(i, table.values[i], None, ())
        ).digest()
        for i in range(rows)
    ]
    tree = merkle.node_at((merkle.DEPTH, 0), leaves, salts.filler)
    expected = merkle.sha256(b"\x02" + bytes.fromhex(RUN) + SCHEMA.fingerprint.encode() + tree)
    assert made.root == expected.hexdigest()
    for position, path in zip(answer.positions.tolist(), answer.paths, strict=True):
        assert path.tobytes() == merkle.path_of(position, leaves, salts.filler)


def test_what_is_sent_tells_nothing_of_the_number_of_rows():
    """Same row, tables of other sizes: all lengths alike, and no hash in common."""
    seen = []
    for rows in (1, 2, 20, 1025):
        table = table_of(rows)
        owner = CommittingOwner(Owner(table, seed=1), table, lambda: KEY)
        owner.answer(CommitRequest(RUN))
        answer = owner._open(Points(table.rows[:1], table.values[:1], None, ()), RUN)
        seen.append((answer.salts.shape, answer.paths.shape))
        hashes = answer.paths.reshape(-1, 32)
        assert len(np.unique(hashes, axis=0)) == 32
    assert len(set(seen)) == 1


# Owners that are elsewhere.


class Committed(Loopback):
    """Owners with keys; `without` has none, `tailored` gives an owner another table later."""

    def __init__(self, without=(), tailored=(), key=KEY):
        super().__init__()
        self._without, self._tailored, self._key = without, tailored, key

    def ask(self, messages):
        self.steps += 1
        for name, asked in messages.items():
            self.received[name].append(list(asked))
            table = self.tables[name]
            if name in self._tailored and self.steps > 1:
                table = read_table(np.ones((30, 3)), name=name, schema=SCHEMA)
            owner = Owner(table)
            if name not in self._without:
                owner = CommittingOwner(owner, table, lambda: self._key)
            try:
                yield name, answer_all(owner, asked, max_bytes=2**24, max_records=1000)
            except DpsummError as error:
                yield name, str(error)


@pytest.mark.parametrize("protocol", [Offers(), AUCTION], ids=["offers", "auction"])
def test_across_silos_the_same_points_with_and_without(protocol):
    one = run(Loopback(), protocol=protocol, seed=4)
    channel = Committed()
    two = run(channel, protocol=protocol, seed=4, commitments=True)
    np.testing.assert_array_equal(one.points, two.points)
    assert one.mmd2 == two.mmd2
    assert sorted(two.commitments.roots) == sorted(NAMES)
    expected, *asked = [decode(message) for message in channel.received["a"][-1]]
    assert isinstance(expected, Expect)
    assert all(isinstance(request, OpenRequest) for request in asked)
    assert type(decode(channel.received["a"][0][0])) is CommitRequest


@pytest.mark.parametrize("fault", ["without", "tailored"])
def test_across_silos_an_owner_that_fails_is_left_out_and_the_others_see_nothing(fault):
    whole, channel = Committed(), Committed(**{fault: ("b",)})
    run(whole, seed=1, commitments=True)
    summary = run(channel, seed=1, commitments=True)
    assert 1 not in summary.owner
    assert len(summary.points) == 9
    (note,) = [note for note in summary.warnings if "'b' was left out" in note]
    assert ("not rows of the table" if fault == "tailored" else "CommitRequest") in note
    for name in ("a", "c", "d"):
        assert channel.received[name] == whole.received[name]


def test_across_silos_a_tailored_answer_takes_a_spare_round_of_the_auction():
    with pytest.raises(ProtocolError, match="nothing was released"):
        run(Committed(without=("b",)), protocol=AUCTION, seed=1, commitments=True)
    forger = Committed(tailored=("b",))
    with pytest.raises(ProtocolError, match="the run must stop"):
        run(forger, protocol=AUCTION, seed=1, commitments=True)
    spare = replace(AUCTION, spare_rounds=1)
    summary = run(Committed(tailored=("b",)), protocol=spare, seed=1, commitments=True)
    assert 1 not in summary.owner


class Dies(Committed):
    """The curator is stopped when all owners have committed."""

    def ask(self, messages):
        if self.steps == 1:
            raise KeyboardInterrupt
        yield from super().ask(messages)


def test_a_run_that_died_goes_on_with_the_roots_that_it_had(tmp_path):
    Ledger.create(tmp_path / "books").close()
    given = {"ledger": tmp_path / "books", "run": "r", "commitments": True}
    with pytest.raises(KeyboardInterrupt):
        run(Dies(), **given)
    channel = Committed()
    channel.steps = 1
    summary = run(channel, **given)
    assert all(len(got) == 1 for got in channel.received.values())  # roots came from the journal
    assert len(summary.commitments.roots) == 4


def test_a_resumed_run_takes_no_data_that_changed_meanwhile(tmp_path):
    Ledger.create(tmp_path / "books").close()
    given = {"ledger": tmp_path / "books", "run": "r", "commitments": True}
    with pytest.raises(KeyboardInterrupt):
        run(Dies(), **given)
    channel = Committed(tailored=("b",))
    channel.steps = 1
    assert 1 not in run(channel, **given).owner


class DiesLater(Committed):
    """One owner has no commitment; the curator is stopped when the second answer has come."""

    def ask(self, messages):
        for count, answered in enumerate(super().ask(messages)):
            if self.steps == 2 and count == 2:
                raise KeyboardInterrupt
            yield answered


def died_after_the_release(tmp_path, **more):
    Ledger.create(tmp_path / "books").close()
    given = {"ledger": tmp_path / "books", "run": "r", "commitments": True}
    with pytest.raises(KeyboardInterrupt):
        run(DiesLater(**more), **given)
    return given


@pytest.mark.parametrize("before", [False, True])
def test_in_one_process_nobody_commits_after_the_release(tmp_path, before):
    data, target = owners_of()
    given = {"size": 9, "kernel": RBF(0.3), "ledger": tmp_path / "books", "run": "r"}
    Ledger.create(tmp_path / "books").close()
    dpsumm.summarize(data, target, commitments=before, **given)
    moved, _ = owners_of(shift=1.0)
    with pytest.raises(InvalidParameterError, match=r"'r' has released already.*another name"):
        dpsumm.summarize(moved, target, commitments=True, **given)
    with Ledger(tmp_path / "books") as book:
        assert book.runs() == ("r",)
    dpsumm.summarize(data, target, **given)
    other = dpsumm.summarize(moved, target, commitments=True, **given | {"run": "s"})
    assert any(note.startswith("4 of 4 owners committed") for note in other.warnings)


def test_no_commitment_is_taken_once_the_run_has_released(tmp_path):
    given = died_after_the_release(tmp_path, without=("b",))
    channel = Committed()
    channel.tables["b"] = read_table(np.ones((30, 3)), name="b", schema=SCHEMA)
    summary = run(channel, **given)
    assert channel.received["b"] == []
    assert 1 not in summary.owner
    assert sorted(summary.commitments.roots) == ["a", "c", "d"]
    assert any("'b' was left out" in n and "had not committed" in n for n in summary.warnings)
    assert any(n.startswith("3 of 4 owners committed") for n in summary.warnings)


def test_a_run_whose_commitments_are_lost_does_not_go_on(tmp_path):
    given = died_after_the_release(tmp_path)
    (tmp_path / "books.answers").unlink()
    channel = Committed()
    with pytest.raises(
        ProtocolError, match=r"nothing more was released.*give the run another name"
    ):
        run(channel, **given)
    assert channel.steps == 0


def test_no_answer_but_a_commitment_answers_the_first_request():
    class Describes(Committed):
        def ask(self, messages):
            for name, answer in super().ask(messages):
                told = Description(30, SCHEMA.fingerprint)
                yield name, encode(told) if name == "b" and self.steps == 1 else answer

    summary = run(Describes(), seed=1, commitments=True)
    assert 1 not in summary.owner
    assert "b" not in summary.commitments.roots


def test_a_run_has_the_same_name_when_resumed_and_no_other_has_it():
    assert run_mark("r", None) == run_mark("r", None)
    assert len({run_mark("r", None), run_mark("s", None), run_mark("r", 0), run_mark("r", 1)}) == 4
    assert run_mark("r", 1) == run_mark("s", 1)
    assert isinstance(decode(encode(CommitRequest(run_mark("r", None)))), CommitRequest)


def test_without_commitments_messages_are_what_they_were():
    channel = Loopback()
    run(channel, seed=1)
    kinds = [type(decode(message)).__name__ for message in channel.received["a"][-1]]
    assert kinds == [Expect.__name__, OfferRequest.__name__]
    assert not {Commitment, OpenedPoints} & {type(decode(m)) for m in channel.received["a"][0]}
