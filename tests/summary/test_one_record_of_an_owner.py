"""One record of an owner moves an Auction by one record, however far or oddly spelled it is."""

import numpy as np
import pytest

import dpsumm
from dpsumm import Column, Schema
from dpsumm.papers import Auction, Requests
from dpsumm.summary.mechanisms import Exact

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("n", [48, 480])  # a block of the core, and ten
@pytest.mark.parametrize("requests", [Requests.ALL, Requests.PRIVATE])
def test_a_far_record_does_not_stop_the_run(n, requests, rng):
    target = rng.normal(1, 1, (300, 3)).astype(np.float32)
    for value in (1.0, 999_999.0, -999_999.0):
        owners = {k: rng.normal(i, 1, (n, 3)).astype(np.float32) for i, k in enumerate("abc")}
        owners["b"][7] = value
        summary = dpsumm.summarize(
            owners,
            target,
            size=20,
            kernel=dpsumm.RBF(0.1),
            protocol=Auction(epsilon_owners=1.0, requests=requests),
            allow_weak_privacy=True,
        )
        assert len(summary) == 20


def test_a_spelling_in_a_file_moves_no_other_record_s_points(tmp_path, rng):
    zips = Column("zip", categories=("02139", "02140", "02141"), other="else")
    schema = Schema([zips, Column("age", bounds=(0, 100))])
    codes = rng.choice(["02139", "02140", "02141"], 200)
    ages = {name: rng.integers(20, 80, 200) for name in "abt"}

    def write(name, first):
        rows = [f"{code},{age}\n" for code, age in zip(codes, ages[name], strict=True)]
        rows[0] = f"{first},{ages[name][0]}\n"
        path = tmp_path / f"{name}.csv"
        path.write_text("zip,age\n" + "".join(rows))
        return path

    a, target, chosen = write("a", "K1A"), write("t", "M5V"), []
    for first in ("K1A", "02139"):
        summary = dpsumm.summarize(
            {"a": a, "b": write("b", first)},
            target,
            size=60,
            schema=schema,
            seed=5,
            protocol=Auction(
                reselect=False, target_release=Exact(), summary_release=Exact(), batch=60
            ),
        )
        chosen.append(set(zip(summary.owner.tolist(), summary.index.tolist(), strict=True)))
    assert len(chosen[0] - chosen[1]) <= 2
