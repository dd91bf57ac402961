"""The margin table: public contract 1, read, checked and laid out in columns."""

from recap.table.io import append_table, as_table, check_appendable, read_table, write_table
from recap.table.row import CHANNELS, Direct, Row, row_from_fields
from recap.table.table import Bools, Channel, Floats, MarginTable

__all__ = [
    "CHANNELS",
    "Bools",
    "Channel",
    "Direct",
    "Floats",
    "MarginTable",
    "Row",
    "append_table",
    "as_table",
    "check_appendable",
    "read_table",
    "row_from_fields",
    "write_table",
]
