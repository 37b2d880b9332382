"""Four haystacks: records with a kind, of which one or two are the needles.

Tables are the census, images are handwritten digits, texts are the documentation of installed
libraries, and signals are made-up heartbeats. Constants of dpsumm were set on the census and on
digits, though with other targets. On texts and signals none was set.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import RBF, Schema
from evidence.data import read_mnist
from evidence.problem import Floats, Labelled
from evidence.tables import adult, read_adult


@dataclass(frozen=True)
class Haystack:
    """Labelled records.

    Attributes
    ----------
    kinds
        (n,) names, by which owners are skewed.
    needles
        The kinds that are wanted.
    total
        Records of all owners together.
    """

    records: Labelled
    kinds: NDArray[Any]
    needles: tuple[str, ...]
    total: int
    kernel: RBF
    schema: Schema | None = None

    def seen(self, points: Floats) -> Floats:
        """Return points as the kernel sees them."""
        return points if self.schema is None else self.schema.encode(points)


@cache
def census(folder: Path) -> Haystack:
    """People by occupation; needles: women in specialised professions. Label: a high income."""
    schema, everything = adult(folder, "")
    table = read_adult(folder)
    kinds = table["occupation"].astype(object)
    wanted = (kinds == "Prof-specialty") & (table["sex"] == "Female")
    kinds[wanted] = "needle"
    return Haystack(everything, kinds, ("needle",), 20_000, RBF.for_schema(schema), schema)


@cache
def images(folder: Path) -> Haystack:
    """Digits of 14 x 14 pixels; needles, and labels among them: 4 and 9."""
    parts = [read_mnist(folder, part) for part in ("train", "t10k")]
    labels = np.concatenate([part.labels for part in parts])
    points = np.concatenate([part.points for part in parts])
    kernel = RBF.for_unit_box(points.shape[1])
    return Haystack(Labelled(points, labels), labels.astype(str), ("4", "9"), 20_000, kernel)


LIBRARIES = ("numpy", "scipy", "sklearn", "polars", "pyarrow", "matplotlib")
PUBLIC = ("email", "json", "xml", "logging", "http", "asyncio", "unittest", "multiprocessing")


@cache
def texts(folder: Path) -> Haystack:
    """Docstrings by library; needles, and labels among them: SciPy's statistics and signals.

    Words are hashed and projected to 50 directions of public texts, the standard library's.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    said = {text: kind for name in LIBRARIES for text, kind in docstrings(name)}
    public = [text for name in PUBLIC for text, _ in docstrings(name)]
    words = HashingVectorizer(n_features=2**14, stop_words="english", alternate_sign=False)
    encoder = make_pipeline(words, TruncatedSVD(50, random_state=0), Normalizer()).fit(public)
    points = encoder.transform(list(said)).astype(np.float32)
    kinds = np.array(list(said.values()))
    kernel = RBF.from_public(encoder.transform(public))
    return Haystack(Labelled(points, kinds), kinds, ("scipy.stats", "scipy.signal"), 5000, kernel)


def docstrings(library: str) -> Iterator[tuple[str, str]]:
    """Yield each docstring of the public names of a library, and where it stands."""
    for module in _modules(library):
        for name, thing in vars(module).items():
            if name.startswith("_") or not callable(thing):
                continue
            home = str(getattr(thing, "__module__", None) or module.__name__)
            if home.split(".", maxsplit=1)[0] != library:
                continue
            inside = vars(thing).items() if inspect.isclass(thing) else ()
            members = [member for key, member in inside if not key.startswith("_")]
            for one in (thing, *members):
                text = getattr(one, "__doc__", None)
                if isinstance(text, str) and len(text) > 80:
                    yield text, ".".join(home.split(".")[:2])


def _modules(library: str) -> Iterator[Any]:
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        package = importlib.import_module(library)
        names = [library]
        for found in pkgutil.iter_modules(package.__path__, f"{library}."):
            if not found.name.split(".")[1].startswith(("_", "test", "conftest")):
                names.append(found.name)
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:  # an optional dependency of that module is not installed
                continue
            yield sys.modules[name]


RATE, LENGTH = 100, 256  # samples a second, samples
RHYTHMS = {  # rate of beats, width of the main wave in s, height of the wave before, level after it
    "normal": (1.2, 0.02, 0.15, 0.0),
    "slow": (0.7, 0.02, 0.15, 0.0),
    "fast": (2.2, 0.02, 0.12, 0.0),
    "low voltage": (1.2, 0.02, 0.05, 0.0),
    "no first wave": (1.5, 0.02, 0.0, 0.0),
    "wide": (1.3, 0.06, 0.0, 0.0),
    "raised": (1.3, 0.02, 0.15, 0.4),
}


@cache
def signals(folder: Path) -> Haystack:
    """Heartbeats, made up; needles, and labels among them: wide beats, and a raised level after.

    A record is the logarithm of the power at 40 frequencies, scaled to [0, 1].
    """
    rng = np.random.default_rng(0)
    common = list(RHYTHMS)[:-2]
    kinds = np.concatenate([rng.choice(common, 25_000), rng.choice(("wide", "raised"), 4000)])
    power = np.empty((len(kinds), 40), np.float32)
    for kind in RHYTHMS:
        rows = np.flatnonzero(kinds == kind)
        spectrum = np.abs(np.fft.rfft(_beats(kind, len(rows), rng), axis=1))[:, 1:41]
        power[rows] = np.clip((np.log10(spectrum) + 1) / 3, 0, 1)
    return Haystack(Labelled(power, kinds), kinds, ("wide", "raised"), 20_000, RBF.for_unit_box(40))


def _beats(kind: str, n: int, rng: np.random.Generator) -> Floats:
    rate, width, before, after = RHYTHMS[kind]
    rates = rate * rng.lognormal(0, 0.15, (n, 1))
    seconds = np.arange(LENGTH) / RATE
    since = (seconds * rates + rng.uniform(0, 1, (n, 1))) % 1 / rates - 0.3  # of the main wave
    height = rng.lognormal(0, 0.2, (n, 1)) * (0.4 if kind == "low voltage" else 1.0)

    def wave(at: float, width: float) -> Floats:
        return np.asarray(np.exp(-(((since - at) / width) ** 2)))

    made = wave(0, width) - 0.25 * wave(0.03 + width, width) + before * wave(-0.16, 0.03)
    made += 0.25 * wave(0.22, 0.05) + after * wave(0.1, 0.06)
    wander = 0.1 * np.sin(2 * np.pi * (0.3 * seconds + rng.uniform(0, 1, (n, 1))))
    return height * made + wander + rng.normal(0, 0.03, made.shape)


HAYSTACKS: dict[str, Callable[[Path], Haystack]] = {
    "tables": census,
    "images": images,
    "texts": texts,
    "signals": signals,
}
