"""Engines of the secret product that keep no secret are refused, with the reason."""

import importlib.util
import sys

import numpy as np
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.privacy import Ledger
from dpsumm.vertical import Dealer, Mpyc

DATA = {name: np.zeros((5, 1)) for name in "ab"}
SCHEMAS = {name: Schema([Column(name, categories=(0, 1))]) for name in "ab"}


@pytest.mark.parametrize(
    ("product", "message"),
    [
        ("spu", r"Dealer\(\) or Mpyc\(\), got 'spu': .*TrustedFirstParty"),
        ("SPU SEMI2K", "TrustedFirstParty"),
        ("crypten", "first party know all triples"),
        ("cicada", "sends the second one's shares to the first"),
        ("dealer", "Dealer()"),
        (3, "got int"),
    ],
)
def test_engines_that_keep_no_secret_are_refused(product, message):
    with pytest.raises(InvalidParameterError, match=message):
        Tables(secret_product=product)


@pytest.mark.parametrize("parties", [1, 2, 4, "3"])
def test_mpyc_with_two_parties_is_refused(parties):
    with pytest.raises(InvalidParameterError, match="threshold is 0"):
        Mpyc(parties=parties)
    with pytest.raises(InvalidParameterError, match="patience"):
        Mpyc(patience=0)


def test_engines_are_what_they_are():
    assert Tables().secret_product == Dealer()
    assert Tables(secret_product=Mpyc(patience=5)).secret_product.patience == 5


def missing(monkeypatch, name):
    """Make a package look as if it were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == name else find(n))
    monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("mpyc", {"protocol": Tables(secret_product=Mpyc())}),
    ],
)
def test_a_missing_package_is_named_before_anything_is_charged(
    monkeypatch, tmp_path, package, call
):
    missing(monkeypatch, package)
    books = {name: tmp_path / name for name in DATA}
    for path in books.values():
        Ledger.create(path).close()
    with pytest.raises(MissingExtraError, match=r"pip install 'dpsumm\["):
        synthesize(DATA, schema=SCHEMAS, ledger=books, **call)
    for path in books.values():
        with Ledger(path) as book:
            assert not book.charges()
