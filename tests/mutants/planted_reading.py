"""Bugs of reading: one record decides what another is read as."""

from planted_base import FRAME, KIND, KINDS, LABEL, P, bug

bug(
    "R1",
    "reading",
    "a label's zero has the sign of another's",
    LABEL,
    "    if is_number(item):\n        return float(item) + 0.0",
    "    if is_number(item):\n        return float(item)",
)
bug(
    "R2",
    "reading",
    "zeros of a column of floats keep their sign, those of objects do not",
    LABEL,
    'labels + 0.0 if labels.dtype.kind == "f" else labels, 0, missing',
    "labels, 0, missing",
)
bug(
    "R3",
    "reading",
    "texts that only a file's dictionary has are read",
    FRAME,
    "        used[places] = True\n",
    "        used[:] = True\n",
)
bug(
    "R4",
    "reading",
    "of equal objects the first is read for all",
    FRAME,
    "    if len(kinds) > 1 or not kinds <= _SAME_IF_EQUAL:",
    "    if len(kinds) > 1:",
)
bug(
    "R5",
    "reading",
    "1 and True are one item",
    FRAME,
    "    if len(kinds) > 1 or not kinds <= _SAME_IF_EQUAL:",
    "    if not kinds <= _SAME_IF_EQUAL:",
)
bug(
    "R6",
    "reading",
    "a text that a library took for null may have been a category",
    KINDS + "category.py",
    "if cells.hides_texts and not NULLS.isdisjoint(self.column.categories):",
    "if False:",
)
bug(
    "R7",
    "reading",
    "an infinite mark is one among texts alone",
    KIND,
    "number for number in numbers if number > -math.inf",
    "number for number in numbers if math.isfinite(number)",
)
bug(
    "R8",
    "reading",
    "decimals are rounded by the column's scale",
    FRAME,
    "        if self.dtype == nw.Decimal:\n            return np.array(",
    "        if False:\n            return np.array(",
)
bug(
    "R9",
    "reading",
    "a number may have been one of two text categories",
    KINDS + "category.py",
    "        if is_hidden and not math.isnan(number_of(item)):",
    "        if False:",
)
bug(
    "R10",
    "reading",
    "unreadable values count in the last block alone",
    P + "data/extract.py",
    "            n_unreadable[j] += read.n_unreadable",
    "            n_unreadable[j] = read.n_unreadable",
)
bug(
    "R11",
    "reading",
    "blocks are joined from the last on",
    P + "data/extract.py",
    "    blocks.reverse()\n",
    "",
)
bug(
    "R12",
    "reading",
    "texts of a block take their places in the first one's dictionary",
    P + "data/read_file.py",
    "    return column.unify_dictionaries().combine_chunks()",
    "    import pyarrow as pa\n"
    "    parts = pa.concat_arrays([chunk.indices for chunk in column.chunks])\n"
    "    return pa.DictionaryArray.from_arrays(parts, column.chunk(0).dictionary)",
)
