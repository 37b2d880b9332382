"""A source's columns, named and not judged, and columns as a data frame of a library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidDataError, InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    import narwhals as nw

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
# Takes consecutive rows of columns, by name; it may empty the dict.
Each: TypeAlias = "Callable[[dict[str, Cells]], None]"
# Of one of these types, equal items are read as the same. Not so (1,) and (True,), two zones' times
# at one moment, NumPy's day and its midnight.
_SAME_IF_EQUAL = frozenset((str, int, float, bool, Decimal, date))


class Distinct(NamedTuple):
    """The values of a column, each there once, and the place of each row's among them.

    None for the places if items that are equal may not be the same, such as 1 and True, or two
    zones' days at one moment. Then each row has its own item.
    """

    items: Any
    places: NDArray[np.integer[Any]] | None

    def laid(self, made: NDArray[Any]) -> NDArray[Any]:
        """Return for each row the result for its item."""
        return made if self.places is None else made[self.places]


class Cells:
    """One column as its library holds it.

    Each distinct value is judged once. Arrow's dictionary lives as long as this object, so no
    library keeps the texts, as polars' categoricals may.

    Parameters
    ----------
    series
        The column.
    are_fields
        Its texts are fields of a text file, so they may be numbers even in a column without marks.
    """

    def __init__(self, series: nw.Series[Any], are_fields: bool = False) -> None:
        import narwhals as nw

        self.series, self.are_fields = series, are_fields
        self.name, self.dtype = series.name, series.dtype
        self.is_number = self.dtype.is_numeric() or self.dtype == nw.Boolean
        self.is_text = self.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)
        self.is_time = self.dtype in (nw.Date, nw.Datetime)
        self.n_absent = series.null_count()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.series)

    @property
    def type_name(self) -> str:
        """The type without its parameters, because those of an Enum are the values."""
        return type(self.dtype).__name__

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Where the library has no value."""
        return np.asarray(self.series.is_null().to_numpy(), bool)

    @property
    def hides_texts(self) -> bool:
        """Whether a library may have taken a text for null, for the sake of other values."""
        import narwhals as nw

        return self.dtype not in (nw.String, nw.Object) and self.n_absent > 0

    @property
    def items(self) -> list[Any]:
        """The values as Python objects, None for null and NaN."""
        return _items(self.series)

    @cached_property
    def distinct(self) -> Distinct:
        """The values as Python objects, None for null and NaN, each once."""
        coded = self._arrow()
        if coded is None:
            return once(self.items)
        places, size = coded
        first = np.full(size, -1)
        first[places[::-1]] = np.arange(len(places) - 1, -1, -1)
        there = first >= 0
        ranks = np.cumsum(there, dtype=np.int32) - 1
        return Distinct(_items(self.series[first[there]]), ranks[places])

    def _arrow(self) -> tuple[NDArray[np.int64], int] | None:
        """Return each row's place in Arrow's dictionary and how many places there are."""
        import narwhals as nw

        kind = self.series.implementation
        if not (kind.is_polars() or kind.is_pyarrow()) or self.dtype.is_nested():
            return None
        if self.dtype in (nw.Object, nw.Unknown):
            return None
        try:
            import pyarrow
        except ImportError:
            return None
        native = self.series.to_native()
        array = native.rechunk().to_arrow() if kind.is_polars() else native.combine_chunks()
        try:
            coded = array.dictionary_encode()
        except (pyarrow.ArrowException, AttributeError):  # a type that has no dictionary
            return None
        if not isinstance(coded, pyarrow.DictionaryArray):
            return None
        return _places(pyarrow, coded), len(coded.dictionary) + 1

    @property
    def texts(self) -> Distinct | None:
        """As `distinct`, as a polars column of text; None if polars does not hold the column."""
        import narwhals as nw

        is_polars = self.dtype == nw.String and self.series.implementation.is_polars()
        return Distinct(self.series.to_native(), None) if is_polars else None

    @property
    def has_odd_categories(self) -> bool:
        """Whether the column is categorical, and a value is no text.

        Of equal values a library keeps one category. For 1 and True, or one moment in two zones, it
        is the one that came first, which may be another record's.
        """
        import narwhals as nw

        return self.dtype in (nw.Categorical, nw.Enum) and not all(
            item is None or isinstance(item, str) for item in self.distinct.items
        )

    def numbers(self) -> NDArray[Any]:
        """Return numbers as float64, or float32 uncopied. NaN where a value is missing."""
        import narwhals as nw

        return self.series.to_numpy() if self.dtype == nw.Float32 else self.floats()

    def floats(self) -> NDArray[np.float64]:
        """Return numbers as float64, NaN where a value is missing.

        Decimals one by one: Arrow's cast rounds by the column's scale, which another record may
        set.
        """
        import narwhals as nw

        if self.dtype == nw.Decimal:
            return np.array([math.nan if x is None else float(x) for x in self.items], np.float64)
        if self.dtype.is_integer():  # Arrow's cast refuses those that a float rounds
            whole = self.series.fill_null(0).to_numpy().astype(np.float64)
            return np.where(self.absent, np.nan, whole) if self.n_absent else whole
        return np.asarray(self.series.cast(nw.Float64).to_numpy())

    def integers(self) -> NDArray[np.int64] | None:
        """Return whole numbers, 0 where a value is missing. None if one is beyond 64 bits with a
        sign, or the column's type is another.
        """
        if not self.dtype.is_integer():
            return None
        least, most = self.series.min(), self.series.max()
        if least is not None and not (int(least) >= -(2**63) and int(most) < 2**63):
            return None
        return np.asarray(self.series.fill_null(0).to_numpy().astype(np.int64))

    def truths(self) -> NDArray[np.bool_] | None:
        """Return truth values, False where a value is missing. None if the type is another."""
        import narwhals as nw

        if self.dtype != nw.Boolean:
            return None
        return np.asarray(self.series.fill_null(False).to_numpy().astype(np.bool_))


class Coded(Cells):
    """A column by Arrow's dictionary, as a Parquet file has its texts. It is never laid out in
    full.

    Has only the texts of its rows. A file that is part of another may keep all texts of it.
    """

    def __init__(self, name: str, coded: Any) -> None:
        import narwhals as nw
        import polars
        import pyarrow

        places, used = _places(pyarrow, coded), np.zeros(len(coded.dictionary) + 1, bool)
        used[places] = True
        used[-1] = True  # for no value
        dictionary: Any = polars.from_arrow(coded.dictionary)
        known = dictionary.alias(name).extend_constant(None, 1)
        super().__init__(nw.from_native(known.filter(polars.Series(used)), series_only=True))
        self._places = (np.cumsum(used, dtype=np.int32) - 1)[places]
        self.n_absent = int(coded.null_count)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._places)

    @property
    def absent(self) -> NDArray[np.bool_]:
        return np.asarray(self._places == len(self.series) - 1)

    @property
    def items(self) -> list[Any]:
        """The values as Python objects, None for null."""
        items = _items(self.series)
        return [items[place] for place in self._places.tolist()]

    @cached_property
    def distinct(self) -> Distinct:
        return Distinct(_items(self.series), self._places)

    @property
    def texts(self) -> Distinct | None:
        known = super().texts
        return known and Distinct(known.items, self._places)


def _places(pyarrow: Any, coded: Any) -> NDArray[np.int64]:
    """Return each row's place in a dictionary, one past the last where there is none."""
    indices = coded.indices.cast(pyarrow.int64())
    # By their memory: Arrow's own way to NumPy imports pandas, where that is installed.
    places = np.frombuffer(indices.buffers()[1] or b"", np.int64, len(indices), 8 * indices.offset)
    if not indices.null_count:
        return places
    absent = indices.is_null().cast(pyarrow.uint8())
    return np.where(
        np.frombuffer(absent.buffers()[1], bool, len(absent)), len(coded.dictionary), places
    )


def _items(series: nw.Series[Any]) -> list[Any]:
    """Return the values as Python objects, None for null and NaN."""
    import narwhals as nw

    items = list(series.to_list())
    for i in np.flatnonzero(series.is_null().to_numpy()):
        items[i] = None
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return items
    return [None if isinstance(item, float) and math.isnan(item) else item for item in items]


def once(items: list[Any]) -> Distinct:
    """Return items as `Cells.distinct` does."""
    kinds = set(map(type, items)) - {type(None)}
    if len(kinds) > 1 or not kinds <= _SAME_IF_EQUAL:
        return Distinct(items, None)
    try:
        place = {item: i for i, item in enumerate(dict.fromkeys(items))}
    except TypeError:  # a signalling NaN is no key
        return Distinct(items, None)
    return Distinct(list(place), np.fromiter(map(place.__getitem__, items), np.int64, len(items)))


@dataclass(frozen=True)
class Frame:
    """Columns by name. Those wanted are taken.

    Attributes
    ----------
    names
        Of all columns, in order.
    take
        Reads some of them, (names). With names of more and a function, that gets these columns
        block by block, and so they are never there as a whole where a file is read by blocks.
    backend
        The data-frame library, ``"polars"`` for files.
    indexed
        Whether it is a pandas frame whose index does not count its rows from 0.
    """

    names: tuple[str, ...]
    take: Callable[..., Mapping[str, Cells]]
    backend: Backend | None
    indexed: bool = False


def is_frame(source: Any) -> bool:
    """Return whether this is a data frame of any library, lazy or not, by its names of columns."""
    import narwhals as nw

    try:
        made = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError:
        return True
    return isinstance(made, (nw.DataFrame, nw.LazyFrame))


def numeric_names(source: Any) -> list[str]:
    """Return the names of a data frame's columns of numbers, and none for other sources."""
    import narwhals as nw

    made: Any = nw.from_native(source, pass_through=True, eager_only=True)
    if not isinstance(made, nw.DataFrame):
        return []
    return [str(name) for name, dtype in made.schema.items() if dtype.is_numeric()]


def frame_of(source: Any, where: str, *, are_fields: bool = False) -> Frame:
    """Return a data frame of any library, lazy or not, whose column names are distinct texts."""
    import narwhals as nw

    try:
        frame: Any = nw.from_native(source)
        names = list(frame.collect_schema().names())
    except TypeError:
        raise InvalidParameterError(
            f"{where}: cannot read data of type {type(source).__name__}. Give an array "
            f"(np.asarray), a pair of arrays, a data frame, or the path of a file"
        ) from None
    except nw.exceptions.DuplicateError:
        raise InvalidDataError(f"{where}: two columns have the same name. Rename one") from None
    text = {name: str(name) for name in names}  # pandas numbers unnamed columns
    check_names(tuple(text.values()), where)
    if not all(isinstance(name, str) for name in names):
        frame = frame.rename(text)

    def take(
        whole: Sequence[str], blockwise: Sequence[str] = (), each: Each | None = None
    ) -> dict[str, Cells]:
        some = frame
        if isinstance(frame, nw.LazyFrame):
            try:
                some = frame.select(*blockwise, *whole).collect()
            except Exception:  # of the query inside; its message may quote data
                raise InvalidDataError(
                    f"{where}: the lazy frame cannot be computed. Collect it yourself to see why"
                ) from None
        found = {name: Cells(some.get_column(name), are_fields) for name in (*blockwise, *whole)}
        if each is not None:
            each({name: found.pop(name) for name in blockwise})
        return found

    backend = frame.implementation.value
    return Frame(
        tuple(text.values()),
        take,
        backend if backend in get_args(Backend) else None,
        backend == "pandas" and _has_own_index(frame),
    )


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse names of columns that are not distinct texts."""
    if not all(name.strip() and "\0" not in name for name in names):
        raise InvalidDataError(
            f"{where}: a column has no name, or one with a NUL character. Rename it"
        )
    if len(set(names)) < len(names):
        raise InvalidDataError(f"{where}: two columns have the same name. Rename one")


def _has_own_index(frame: Any) -> bool:
    """Return whether the index of a pandas frame is another one than pandas gives by itself."""
    import narwhals as nw

    index: Any = nw.maybe_get_index(frame)
    return not (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1))


def backend_of(asked: Backend | None, usual: Backend | None) -> Backend:
    """Return the library that is asked for, else the usual one, else polars."""
    backend = asked or usual or "polars"
    if backend not in get_args(Backend):
        raise InvalidParameterError(
            f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}"
        )
    return backend


def framed(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Return columns as a data frame."""
    import narwhals as nw

    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ImportError:
        raise MissingExtraError(
            f"backend: {backend} is not installed. Run pip install {backend}, or "
            "pip install 'dpsumm[files]' for polars"
        ) from None


def as_series(name: str, values: Any, dtype: Any, backend: Any) -> Any:
    """Return values with a type, as `How.originals` gives them, as a column for a data frame."""
    import narwhals as nw

    if dtype is None:
        return values
    if backend == "pandas":
        # Its integers and truth values have no missing ones, and its dates need pyarrow.
        short = any(value is None for value in values)
        dtype = {nw.Int64: nw.Float64, nw.Boolean: nw.Object}.get(dtype, dtype) if short else dtype
        dtype = nw.Datetime("us") if dtype == nw.Date else dtype
    if dtype == nw.Object:
        return values
    return nw.new_series(name, values, dtype, backend=backend)
