"""What is logged: something, and the same whatever the records are."""

import logging

import pytest

import dpsumm

PROTOCOLS = [
    dpsumm.Offers(),
    dpsumm.Pool(),
    dpsumm.papers.Auction(),
    dpsumm.papers.Auction(requests=dpsumm.papers.Requests.PRIVATE, epsilon_owners=4.0),
]


def lines_of(run, caplog):
    """Every line of a run, but for the run's own random name."""
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="dpsumm"):
        run()
    assert all(record.name.split(".")[0] == "dpsumm" for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "protocol", PROTOCOLS, ids=["offers", "pool", "auction", "private requests"]
)
def test_logs_do_not_depend_on_records(protocol, rng, caplog, tmp_path):
    def run(shifts, target, name):
        dpsumm.Ledger.create(tmp_path / name).close()
        dpsumm.summarize(
            [rng.normal(shift, 1.0, (80, 2)) for shift in shifts],
            target,
            size=12,
            protocol=protocol,
            kernel=dpsumm.RBF(0.3),
            ledger=tmp_path / name,
            run="run",
        )

    one = lines_of(lambda: run((-3, 0, 3), rng.normal(3, 1, (200, 2)), "one"), caplog)
    other = lines_of(lambda: run((9, -9, 0), rng.normal(-9, 0.1, (200, 2)), "other"), caplog)
    assert one == other
    assert one[0] == f"run run: {protocol.name}, 3 owners, size 12, 2 columns"
    assert one[-1] == "run run: done"


def test_a_release_sent_again_is_logged_as_such(rng, caplog):
    charge = dpsumm.privacy.Charge(
        dpsumm.privacy.Protected.TARGET, "a message of 77 records", dpsumm.privacy.Gaussian(2.0)
    )
    with dpsumm.Ledger(run="r") as book:
        first = lines_of(lambda: book.release("k", [charge], lambda: b"x"), caplog)
        again = lines_of(lambda: book.release("k", [charge], lambda: b"y"), caplog)
    assert first == [
        "run r: charged to target, seen by an owner: Gaussian(noise_multiplier=2.0), times 1, "
        "unit: replace one record"
    ]
    assert again == ["run r: released before, sent again without a charge"]


def test_the_package_is_silent_by_default():
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("dpsumm").handlers)
