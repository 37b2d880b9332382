"""The kinds of columns: one class each, which says all that becomes of a value of this kind."""

from dpsumm.data.kinds.along import Along
from dpsumm.data.kinds.category import Category
from dpsumm.data.kinds.date import Date
from dpsumm.data.kinds.kind import How, Kind
from dpsumm.data.kinds.label import Label
from dpsumm.data.kinds.number import Number

# In the order in which a column without a kind is taken for one.
KINDS: dict[Kind, type[How]] = {
    Kind.CATEGORY: Category,
    Kind.DATE: Date,
    Kind.NUMBER: Number,
    Kind.IGNORE: Along,
    Kind.LABEL: Label,
}
