"""Bad input: the right class, the parameter and the way out; no data value; nothing charged."""

# ruff: noqa: E501 (tables: one case a line)

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import RBF, Offers, Pool
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.papers import Auction, Mwem, Requests
from dpsumm.summary.mechanisms import Gaussian

SECRETS = (987654.321, -445566.75, 0.000123321)
TRACES = ("98765", "44556", "1233")
N = 30


def planted(seed=0, n=N):
    """Points among which three odd values lie."""
    data = np.random.default_rng(seed).normal(size=(n, 2))
    data[3, 0], data[5, 1], data[7, 0] = SECRETS
    return data


def spoilt(value):
    data = planted()
    data[11, 1] = value
    return data


def frame(**columns):
    return pl.DataFrame({"a": planted()[:, 0], "b": planted()[:, 1]} | columns)


GOOD = {"one": planted(), "two": planted(1)}
TARGET = planted(2, 400)
P, D = InvalidParameterError, InvalidDataError

CASES = {
    "empty owner": ({"owners": {"one": planted(), "two": planted()[:0]}}, D, "'two'.*empty.*Leave an owner without records out"),
    "no columns": ({"owners": [planted()[:, :0]]}, D, "empty.*columns"),
    "NaN": ({"owners": [spoilt(np.nan)]}, D, "'owner-0'.*'x1'.*missing.*when_missing"),
    "infinity": ({"owners": [planted(), spoilt(-np.inf)]}, D, "'owner-1'.*'x1'.*infinite.*replace"),
    "NaN in target": ({"target": spoilt(np.nan)}, D, "'target'.*missing"),
    "infinity in target": ({"target": spoilt(np.inf)}, D, "'target'.*infinite"),
    "widths": ({"owners": [planted(), planted()[:, :1]]}, D, "'owner-1'.*1 column .*2.*same columns"),
    "width of target": ({"target": planted()[:, :1]}, D, "'target'.*1 column .*2"),
    "text column": ({"owners": [frame(c=["987654.321"] * N)], "target": frame()}, D, "'c' is not numeric.*say its kind in a `schema`"),
    "missing column": ({"owners": [frame(), frame().drop("b")], "target": frame()}, D, "'owner-1'.*lacks column 'b'"),
    "column unknown": ({"owners": [frame()], "target": frame(), "schema": {"z": "number"}}, D, "has no column 'z', which its schema"),
    "column missing in target": ({"owners": [frame()], "target": frame().drop("a")}, D, "'target'.*no column 'a'"),
    "label missing in one": ({"owners": [frame(y=[1] * N), frame()], "target": frame(), "schema": {"a": "number", "b": "number", "y": "label"}}, D, "'owner-1'.*no label column 'y'"),
    "labels of one only": ({"owners": [(planted(), np.ones(N)), planted()]}, D, "'owner-1'.*no labels.*all owners or for none"),
    "labels too few": ({"owners": [(planted(), np.full(3, 987654.321))]}, D, "one label per row"),
    "labelled target": ({"target": (planted(), np.ones(N))}, P, "target: has labels, although no owner has"),
    "vector": ({"owners": [planted()[:, 0]]}, D, r"reshape\(-1, 1\)"),
    "nested lists": ({"owners": [planted().tolist()]}, P, "np.asarray"),
    "one array": ({"owners": planted()}, P, r"owners must be a list.*\[data\]"),
    "no owners": ({"owners": []}, P, "at least one owner"),
    "equal names": ({"owners": {1: planted(), "1": planted()}}, P, "names must be distinct"),
    "blank name": ({"owners": {" ": planted()}}, P, "not empty"),
    "no such file": ({"owners": ["none/here.csv"]}, D, "'here'.*no such file"),
    "target of one": ({"target": planted()[3:4]}, P, "target must have at least 2 points, got 1"),
    "bounds of one": ({"schema": {"z": (0, 1)}}, D, "has 2 columns, the schema 1: 'z'"),
    "bounds reversed": ({"schema": {"x0": (1, 0)}}, P, "'x0' needs finite low < high"),
    "bounds infinite": ({"schema": {"x0": (0, np.inf)}}, P, "'x0' needs finite low < high"),
    "bounds no pair": ({"schema": {"x0": 3}}, P, "'x0' must be"),
    **{f"size {v!r}": ({"size": v}, P, "size must be a whole number of at least 1") for v in (0, -1, True, 2.0, np.float64(3), "4", None, np.nan)},
    "size beyond all": ({"size": 2 * N + 1}, P, "size must be between 1 and 60"),
    **{f"epsilon {v!r}": ({"epsilon": v}, P, "epsilon must be a number above 0") for v in (0, -1.0, np.nan, np.inf, -np.inf)},
    **{f"delta {v!r}": ({"delta": v}, P, "delta must lie strictly between 0 and 1") for v in (0, 1, -0.5, 2, np.nan)},
    **{f"seed {v!r}": ({"seed": v}, P, "seed must be") for v in (-1, 2**63, 1.5, "a", True)},
    **{f"protocol {v!r}": ({"protocol": v}, P, "protocol must be one of offers, auction") for v in (Offers, "Offers", 1)},
    **{f"kernel {v!r}": ({"kernel": v}, P, r"kernel must be RBF\(gamma\)") for v in (RBF, 0.5, "rbf")},
    "owner's seed points": ({"protocol": Auction(seed_points=np.ones((2, 3)))}, P, r"seed_points must be a finite \(s, 2\)"),
    "seed points with NaN": ({"protocol": Auction(seed_points=np.full((2, 2), np.nan))}, P, "seed_points must be a finite"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_before_anything_is_charged(case, tmp_path):
    options, error, message = CASES[case]
    books = tmp_path / "books.db"
    dpsumm.Ledger.create(books).close()
    arguments = {"owners": GOOD, "target": TARGET, "size": 5, "kernel": RBF(0.3)} | options
    with pytest.raises(error, match=message) as caught:
        dpsumm.summarize(**arguments, ledger=books)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, dpsumm.errors.DpsummError)
    chain = str(caught.value) + str(caught.value.__cause__)
    if not caught.value.__suppress_context__:
        chain += str(caught.value.__context__)
    assert not any(trace in chain for trace in TRACES)
    with dpsumm.Ledger(books) as ledger:
        assert ledger.charges() == ()


PARAMETERS = [
    *[(lambda v=v: Offers(n_features=v), "n_features must be an even") for v in (0, -2, 3, 2.0, "4", True)],
    *[(lambda v=v: Pool(reads_per_record=v), "reads_per_record must be") for v in (0.99, -1, np.nan, np.inf)],
    *[(lambda v=v: Auction(batch=v), "batch must be") for v in (0, -1, 1.5, True)],
    *[(lambda v=v: Auction(coalition=v), "coalition must be") for v in (0, 2.5)],
    *[(lambda v=v: Auction(spare_rounds=v), "spare_rounds must be") for v in (-1, 0.5)],
    *[(lambda v=v: Auction(request_share=v), "request_share must") for v in (0, 1, np.nan)],
    *[(lambda v=v: Auction(n_features=v), "n_features must be an even") for v in (0, 7, 8.0)],
    *[(lambda v=v: Auction(requests=v), "requests must be 'all', 'private'") for v in ("some", "ALL", None)],
    (lambda: Auction(requests=Requests.PUBLISHED, batch=2), "batch must be 1 with the published"),
    (lambda: Auction(epsilon_owners=0), "epsilon_owners must be"),
    (lambda: Requests.published(np.inf), "epsilon_auction must be"),
    (lambda: Auction.published(0), "size must be"),
    *[(lambda v=v: RBF(v), "gamma must be") for v in (0, -1, np.nan, np.inf)],
    (lambda: RBF.for_unit_box(0), "n_columns must be"),
    (lambda: RBF.from_public(np.ones((5, 2))), r"median distance is 0.*RBF\(gamma\)"),
    (lambda: RBF.from_public(np.ones((1, 2))), "at least 2 rows"),
    (lambda: Mwem(0, 1.0, 1.0), "iterations must be"),
    (lambda: Mwem(1, 0.0, 1.0), "epsilon_select must be"),
    (lambda: Mwem(1, 1.0, np.nan), "epsilon_measure must be"),
    (lambda: Mwem(1, 1.0, 1.0, steps=0), "steps must be"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), PARAMETERS)
def test_bad_parameters_are_refused_when_given(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n987654.321,2\n-445566.75\n1,2,3,4\n",
        "a,b\n987654.321,x\n1,2\n",
        'a,b\n"987654.321,2\n',
        "",
        "a,b\n",
        "a,a\n987654.321,2\n",
    ],
)
def test_unusable_files_are_refused_without_quoting_them(tmp_path, content):
    path = tmp_path / "north.csv"
    path.write_text(content)
    with pytest.raises(InvalidDataError, match="'north'") as caught:
        dpsumm.summarize([path], TARGET, size=1, kernel=RBF(0.3))
    assert not any(trace in str(caught.value) for trace in TRACES)
    for suffix in (".parquet", ".csv"):
        binary = tmp_path / f"south{suffix}"
        binary.write_bytes(b"PAR1\x00\xff987654.321\x00\xfe")
        with pytest.raises(InvalidDataError, match="'south'") as caught:
            dpsumm.summarize([binary], TARGET, size=1, kernel=RBF(0.3))
        assert not any(trace in str(caught.value) for trace in TRACES)


def test_missing_values_can_be_dropped_and_are_counted_for_the_consumer_only():
    owner = spoilt(np.nan)
    drops = {"when_missing": "drop"}
    summary = dpsumm.summarize(
        [owner], TARGET, size=5, kernel=RBF(0.3), schema={"a": drops, "b": drops}
    )
    assert summary.n_records == (N - 1,)
    assert 11 not in summary.index
    np.testing.assert_array_equal(summary.points, owner[summary.index])
    assert any("1 row with missing values was" in note for note in summary.notes)


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-30, 1e30, float("nan"), "1"])
def test_noise_multiplier_out_of_range_is_refused_when_it_is_set(value):
    with pytest.raises(InvalidParameterError, match="noise_multiplier"):
        Gaussian(value)


@pytest.mark.parametrize("numbers", [(5, 1e-9, 0.01), (5, 0.01, 1e-9, 65536), (5, 1e5, 0.01)])
def test_mwem_that_no_sampler_takes_is_refused_when_it_is_set(numbers):
    with pytest.raises(InvalidParameterError, match="epsilon_"):
        Mwem(*numbers)


def test_a_rule_of_requests_is_named_by_its_word():
    for rule in Requests:
        given = Auction(requests=rule.value)
        assert given == Auction(requests=rule)
        if rule is not Requests.PUBLISHED:
            assert given.requests is rule
    assert Auction(requests="published").requests == Requests.published()
