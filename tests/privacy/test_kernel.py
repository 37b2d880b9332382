"""The privacy kernel: what it claims, and that nothing that is private leaves by another way."""

import ast
import inspect
import math
import re
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

import dpsumm
from dpsumm import Column, Schema
from dpsumm.errors import BudgetExceededError, InvalidParameterError
from dpsumm.privacy import Approximate, Gaussian, Ledger, Observer, Protected, Seeded, Unit
from dpsumm.privacy import release as kernel
from dpsumm.privacy.ledger import OtherReleaseError
from dpsumm.privacy.release import (
    Bound,
    PaidNoise,
    Query,
    Sums,
    annex,
    multiplier_for,
    release,
    share,
)

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "dpsumm"
KERNEL = PACKAGE / "privacy" / "release"
# Beside the kernel, whoever audits reads what it charges, adds up and writes with.
READ = [
    *sorted(KERNEL.glob("*.py")),
    *(PACKAGE / "privacy" / name for name in ("events.py", "accounting.py", "portable.py")),
]
LEDGER = ("release", "record", "check_room", "_released", "_draw", "spent")


def sums(*multipliers, seed=None, **more):
    queries = [Query.at(Bound(2.0), multiplier, seed=seed) for multiplier in multipliers]
    return Sums(queries, Protected.TARGET, "a test", **more)


def leave(book, key, priced, exact):
    def draw(noise):
        return b"".join(noise.on(one).tobytes() for one in exact)

    return release(book, key, priced, draw, binding="")


# --- what it claims -----------------------------------------------------------------------------


def delta_of(mu, epsilon):
    """Balle & Wang 2018, Theorem 8, by mpmath: no code of the package."""
    with mp.workdps(40):
        a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return mp.ncdf(a) - mp.exp(epsilon) * mp.ncdf(b)


@pytest.mark.parametrize("times", [1, 2, 60])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 9.0])
def test_a_multiplier_costs_what_was_asked_for(epsilon, times):
    mu = math.sqrt(times) / multiplier_for(epsilon, 1e-6, times)
    assert delta_of(mu, epsilon) <= 1e-6
    assert delta_of(1.0001 * mu, epsilon) > 1e-6


@pytest.mark.parametrize(
    ("multipliers", "mu"), [((4.0,), 0.25), ((3.0, 4.0), 5 / 12), ((8.0,) * 16, 0.5)]
)
def test_sums_cost_as_one_release_of_their_root_of_squares(multipliers, mu):
    (charge,) = sums(*multipliers).charges
    assert charge.event.noise_multiplier == pytest.approx(1 / mu, rel=1e-11)
    assert charge.event.noise_multiplier <= 1 / mu
    assert (charge.count, charge.unit) == (1, Unit.REPLACE_RECORD)


def test_what_is_charged_is_what_gets_noise():
    priced = Sums(
        [Query.at(Bound(3.0, Unit.WHOLE_OWNER), 5.0, times=7)],
        Protected.OWNERS,
        "a test",
        Observer.PUBLIC,
    )
    (charge,) = priced.charges
    assert (charge.event, charge.count) == (Gaussian(5.0), 7)
    assert (charge.unit, charge.observer) == (Unit.WHOLE_OWNER, Observer.PUBLIC)
    assert priced.queries[0].noise_std == 15.0
    assert sums().charges == ()


@pytest.mark.parametrize("std", [0.3, 1.0, 7.123456789, 2.0**33 / 3])
@pytest.mark.parametrize("norm", [1.0, math.sqrt(2), 3 * 2.0**20])
def test_a_multiplier_is_rounded_down(norm, std):
    query = Query.with_std(Bound(norm), std)
    assert query.noise_std == std
    assert mp.mpf(query.multiplier) * mp.mpf(norm) <= mp.mpf(std) * (1 + mp.mpf(2) ** -52)
    assert query.multiplier == pytest.approx(std / norm, rel=1e-15)


def test_a_seed_makes_the_charge_infinite_and_a_later_release_is_added():
    assert sums(4.0, seed=3).charges[0].event == Seeded()
    epsilon = 1.0
    query = Query.at(Bound(1.0), multiplier_for(epsilon, 1e-6, 60), times=60)
    later = Sums([query], Protected.TARGET, "later", afterwards=(epsilon, 1e-6))
    assert later.charges[0].event == Approximate(epsilon, 1e-6)
    with pytest.raises(InvalidParameterError, match="afterwards"):
        Sums([query], Protected.TARGET, "later", afterwards=(0.99 * epsilon, 1e-6))


# --- noise --------------------------------------------------------------------------------------


def test_each_sum_has_noise_of_its_own_and_each_is_used_once():
    with Ledger() as book:
        zeros = [np.zeros((20, 5), np.int64)] * 3
        drawn = np.frombuffer(leave(book, "k", sums(1e6, 1e6, 1e6), zeros), np.int64)
        assert len(np.unique(drawn)) > 290
        assert leave(book, "k", sums(1e6, 1e6, 1e6), zeros) == drawn.tobytes()
        for key, exact in (("fewer", zeros[:2]), ("more", [*zeros, zeros[0]])):
            with pytest.raises(RuntimeError, match=r"paid|charged"):
                leave(book, key, sums(1e6, 1e6, 1e6), exact)
        assert len(book.charges()) == 1


@pytest.mark.parametrize("count", [2, 65, 1000])
def test_a_charge_counts_every_sum(count):
    """A table of rows of many columns has hundreds."""
    (charge,) = sums(*[30.0] * count, 20.0).charges
    squared = mp.mpf(charge.event.noise_multiplier) ** -2
    due = count * mp.mpf(30) ** -2 + mp.mpf(20) ** -2
    assert due <= squared <= due * (1 + 1e-11)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_noise_on_words_of_a_ring_wraps(dtype):
    noise = PaidNoise([Query.with_std(Bound(1.0), 50.0)])
    words = np.full(4000, 3, dtype)
    noisy = noise.on(words)
    assert noisy.dtype == dtype
    signed = (noisy - words).view(np.int32 if dtype is np.uint32 else np.int64)
    assert 40 < signed.std() < 60
    assert (signed < 0).any()


TOO_LARGE = "a sum is too large for 64 bits"


@pytest.mark.parametrize(
    "exact",
    [
        np.zeros(3),
        np.zeros(3, np.int32),
        np.array([2**62 + 1]),
        np.array([-(2**62) - 1]),
        np.array([0, -(2**63)]),  # which is its own absolute value
    ],
)
def test_what_has_no_exact_noise_is_refused(exact):
    with pytest.raises(RuntimeError, match=r"integers|large") as refused:
        PaidNoise([Query.at(Bound(1.0), 1.0)]).on(exact)
    # An error may be logged: it holds none of the sum.
    assert str(refused.value) in ("only sums of integers get exact noise", TOO_LARGE)


def test_a_share_is_charged_once_as_a_release_is():
    """It is made anew when it is asked for again, and no release beside it."""
    with Ledger() as book:
        made = [
            share(
                book,
                "k",
                sums(300.0),
                lambda noise: noise.on(np.array([7] * 9)).tobytes(),
                binding="",
            )
            for _ in range(3)
        ]
        assert len(set(made)) > 1
        assert book.charges() == sums(300.0).charges
    with Ledger() as book:
        leave(book, "k", sums(3.0), [np.array([7])])
        with pytest.raises(OtherReleaseError):
            share(book, "k", sums(3.0), lambda noise: b"", binding="")


def test_nothing_is_drawn_beyond_a_cap(tmp_path):
    drawn = []
    with Ledger.create(tmp_path / "l.db", caps={"target": (0.5, 1e-5)}) as book:
        with pytest.raises(BudgetExceededError):
            release(book, "k", sums(1.0), lambda noise: drawn.append(1) or b"", binding="")
        assert not drawn
        assert book.charges() == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bound(0.0),
        lambda: Bound(math.inf),
        lambda: Query(Bound(2.0), 3.0, 5.9),
        lambda: Query.at(Bound(1.0), 1.0, times=0),
        lambda: Query.at(Bound(1.0), 1.0, times=2, seed=1),
        lambda: Sums(
            [Query.at(Bound(1.0, unit), 1.0) for unit in Unit], Protected.TARGET, "two units"
        ),
        lambda: Sums(
            [Query.at(Bound(1.0), 1.0, seed=seed) for seed in (1, None)], Protected.TARGET, "seeds"
        ),
    ],
)
def test_what_would_cost_less_than_it_tells_cannot_be_made(make):
    with pytest.raises(InvalidParameterError):
        make()


# --- nothing leaves by another way --------------------------------------------------------------

# Where else a charge is made or a ledger's `release` called: file to why.
ELSEWHERE = {
    "privacy/book_format.py": "reads charges that are in the file",
    "privacy/ledger.py": "`record`, which charges nothing",
    "cli/dossier.py": "adds up again what a run's record says was charged",
}
# Where noise for queries is made without a charge: file to why.
UNPAID = {
    "summary/mechanisms.py": "public seed points of an auction",
    "ensemble/baselines.py": "comparisons on data at hand",
    "papers/dpvi/method.py": "a reference without a ledger",
}


def calls(source):
    """What charges, releases or makes noise in a file: names of functions that are called."""
    if not re.search(r"release|Charge|PaidNoise", source):
        return
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            of = getattr(getattr(call.func, "value", None), "id", "")
            if name == "release" and isinstance(call.func, ast.Attribute):
                ledger = of not in ("kernel", "annex", "trainer", "held")
                yield "a ledger's release" if ledger else ""
            elif name in ("Charge", "PaidNoise"):
                yield name


def made_in(kinds, source):
    return sorted(set(kinds) & set(calls(source)))


def test_no_other_module_charges_or_draws():
    for path in sorted(PACKAGE.rglob("*.py")):
        where, source = path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8")
        if path.parent == KERNEL or where.startswith("audit/"):
            continue
        made = set(calls(source))
        charging = made & {"Charge", "a ledger's release"}
        assert bool(charging) == (where in ELSEWHERE), (where, charging)
        assert ("PaidNoise" in made) == (where in UNPAID), where
        # The contract `noise` sees imports; the samplers are also attributes of `dpsumm.kernels`.
        used = re.findall(r"\bkernels\.(rounded_normal|discrete_l|exponential_c|mwem)\w*\(", source)
        assert not used or path.parent.name == "kernels", where


def test_the_search_sees_a_charge_and_a_release():
    assert made_in(["Charge"], "x = Charge(a, 'b', c)") == ["Charge"]
    assert made_in(["a ledger's release"], "self.ledger.release(k, [], f)")
    assert made_in(["PaidNoise"], "kernel.PaidNoise(q)") == ["PaidNoise"]
    assert not made_in(["a ledger's release"], "annex.release(n, k)")


@pytest.fixture
def no_annex(monkeypatch):
    def refuse(*given, **named):
        raise AssertionError("a default run reached the annex")

    for name in ("release", "rounded_normal", "mwem"):
        monkeypatch.setattr(annex, name, refuse)


def test_defaults_do_not_reach_the_annex(no_annex, rng):
    x = {name: rng.uniform(0, 1, (200, 2)) for name in ("a", "b", "c")}
    y = {name: (v, (v[:, 0] > 0.5).astype(int)) for name, v in x.items()}
    schemas = {
        name: Schema([Column(f"{name}{j}", bounds=(0, 1)) for j in range(2)]) for name in "ab"
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dpsumm.summarize(
            x, rng.uniform(0, 1, (300, 2)), size=12, schema={"x0": (0, 1), "x1": (0, 1)}
        )
        for method in (None, "votes"):
            dpsumm.learn(y, rng.uniform(0, 1, (50, 2)), classes=[0, 1], protocol=method)
        dpsumm.synthesize({name: x[name] for name in "ab"}, schema=schemas)
        # As few arguments as there can be: refused, or done without.
        for call in (
            lambda: dpsumm.summarize(x, rng.uniform(0, 1, (3000, 2)), size=12),
            lambda: dpsumm.learn(y, rng.uniform(0, 1, (50, 2)), classes=[0, 1]),
            lambda: dpsumm.synthesize({name: x[name] for name in "ab"}, schema={}),
        ):
            with suppress(InvalidParameterError):
                call()


def test_the_annex_is_whole():
    """Every mechanism that calls it has an entry, whose page and tests are there."""
    named = set()
    for source in (path.read_text("utf-8") for path in PACKAGE.rglob("*.py")):
        for call in ast.walk(ast.parse(source)) if "annex" in source else ():
            of = getattr(getattr(call, "func", None), "value", None)
            if getattr(of, "id", "") == "annex" and call.func.attr == "release":
                named.add(getattr(call.args[0], "value", call.args[0]))
    assert {name for name in named if isinstance(name, str)} <= {e.name for e in annex.ANNEX}
    page = (ROOT / "docs/privacy/kernel.md").read_text("utf-8")
    for entry in annex.ANNEX:
        assert (ROOT / "docs" / entry.page).is_file()
        assert (ROOT / entry.tests).is_file()
        assert entry.name in page


def test_it_is_read_in_a_day():
    lines = {path.name: len(path.read_text("utf-8").splitlines()) for path in READ}
    lines |= {name: len(inspect.getsourcelines(getattr(Ledger, name))[0]) for name in LEDGER}
    assert sum(lines.values()) <= 1500, lines
    page = (ROOT / "docs/privacy/kernel.md").read_text("utf-8")
    for what in (*(path.relative_to(PACKAGE).as_posix() for path in READ), *LEDGER):
        assert what in page, what


def test_the_kernel_says_what_it_exports():
    assert all(hasattr(kernel, name) for name in kernel.__all__)


def test_no_check_of_a_claim_is_an_assert():
    """`python -O` takes them out. Those that tell mypy of a type guard nothing."""
    folder = Path(dpsumm.__file__).parent
    for room in ("privacy", "exchange", "flower"):
        for path in (folder / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Assert):
                    said = ast.unparse(node.test)
                    assert "isinstance(" in said or said.endswith("is not None"), (path, said)


def test_the_annex_releases_what_it_has_an_entry_for():
    with Ledger() as book, pytest.raises(InvalidParameterError, match="no entry 'another'"):
        annex.release("another", book, "k", [], lambda: b"x")
