"""Converts tables of the service to pandas objects, and back."""

from __future__ import annotations

import re
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from .optional import package

if TYPE_CHECKING:
    from pandas import DataFrame
    from pandas import Series as DatedSeries

pandas = package("pandas")

#: True if pandas is installed.
HAS_PANDAS = pandas is not None

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class Series(Dict[str, Any]):
    """A dated series without pandas: `index` contains dates, `data` values, `name` its name."""

    def __len__(self) -> int:
        return len(self["index"])

    def items_by_date(self) -> Iterable[Tuple[str, Any]]:
        return zip(self["index"], self["data"])

    @property
    def last(self) -> Any:
        return self["data"][-1]


class Table(Dict[str, Any]):
    """A table without pandas: `index` contains labels of rows, `columns` those of columns, `data` rows."""

    def column(self, name: str) -> List[Any]:
        at = self["columns"].index(name)
        return [row[at] for row in self["data"]]


def ready(value: Any, frames: bool) -> Any:
    """JSON with every dated series and table in it as what a Python user works with."""
    if isinstance(value, list):
        return [ready(item, frames) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_series(value):
        return to_series(value) if frames else Series(value)
    if _is_table(value):
        return to_frame(value) if frames else Table(value)
    return {key: ready(member, frames) for key, member in value.items()}


def to_series(payload: Mapping[str, Any]) -> "DatedSeries":
    """Converts a dated series of a response."""
    dates = pandas.to_datetime(payload["index"])
    return pandas.Series(payload["data"], index=dates, name=payload["name"], dtype="float64")


def to_frame(table: Any, index: Optional[str] = None) -> "DataFrame":
    """Converts a table of a response: one in `split` form, or a list of objects with nested members as `member.member`.

    :param index: the column with the row labels. Default: the first one named `date` or `identifier`
    """
    if isinstance(table, Mapping):
        if not _is_table(table):
            return _dated(pandas.DataFrame([flat(row) for row in table.values()], index=list(table)))
        return _dated(pandas.DataFrame(table["data"], index=table["index"], columns=table["columns"]))
    frame = pandas.DataFrame([flat(row) for row in table])
    for column in [name for name in frame.columns if name == "date" or str(name).endswith("_date")]:
        frame[column] = pandas.to_datetime(frame[column])
    key = index or next((name for name in ("date", "identifier", "asset_id") if name in frame.columns), None)
    if key is None or not frame[key].is_unique:
        return frame
    return frame.set_index(key)


def tables(answer: Any) -> "Dict[str, DataFrame | DatedSeries]":
    """Every table and series of a response by its path, such as `contributions` or `performance.drawdowns`.

    Lists of objects, values for each of `dates`, numbers by name (`metrics`) or month, matrices. The tables in the rows of
    another, `scenarios.by_name`, form one table, whose first columns (`scenarios.name`) identify the row.
    """
    return dict(_tables(answer, "", []))


def _tables(value: Any, place: str, dates: List[str]) -> "Iterator[Tuple[str, Any]]":
    """:param dates: dates next to the value, or of an enclosing object"""
    if isinstance(value, list):
        yield from _tables_of_list(value, place, dates)
    if not isinstance(value, Mapping):
        return
    if _is_series(value):
        yield place, to_series(value)
    elif _is_table(value):
        yield place, to_frame(value)
    elif value and all(_is_number(member) for member in value.values()):
        yield place, _dated(pandas.Series(dict(value), dtype="float64"))
    else:
        own: Any = value.get("dates")
        is_dated = isinstance(own, list) and all(isinstance(date, str) for date in own)
        dates = own if is_dated else dates
        numbers = {name: _numbers(member) for name, member in value.items() if _is_by_date(member, dates)}
        # Texts next to numbers by date are by date too; other texts may be names with the same count by chance.
        texts = {name for name, member in value.items() if numbers and _is_named_by_date(member, dates)}
        by_date = {name: numbers.get(name, member) for name, member in value.items() if name in {*numbers, *texts}}
        if by_date:
            yield place, pandas.DataFrame(by_date, index=pandas.to_datetime(dates))
        for name, member in value.items():
            if not (name == "dates" and is_dated) and name not in by_date:
                yield from _tables(member, f"{place}.{name}" if place else name, dates)


def _tables_of_list(value: List[Any], place: str, dates: List[str]) -> "Iterator[Tuple[str, Any]]":
    if not value:
        return
    if all(isinstance(row, list) for row in value):
        yield place, pandas.DataFrame(value)
    if not all(isinstance(row, Mapping) for row in value):
        return
    yield place, to_frame(value)
    inner: Dict[str, List[Dict[str, Any]]] = {}
    by_date: Dict[str, Dict[str, Any]] = {}
    for at, row in enumerate(value):
        own = {f"{place}.{key}": row[key] for key in _KEYS if isinstance(row.get(key), str)} or {f"{place}.row": at}
        for name, member in row.items():
            if _is_by_date(member, dates):
                by_date.setdefault(f"{place}.{name}", {})[str(next(iter(own.values())))] = member
            elif isinstance(member, list) and member and all(isinstance(one, Mapping) for one in member):
                inner.setdefault(f"{place}.{name}", []).extend({**own, **one} for one in member)
    for name, rows in inner.items():
        yield name, to_frame(rows)
    for name, columns in by_date.items():
        yield name, pandas.DataFrame(columns, index=pandas.to_datetime(dates), dtype="float64")


#: Members that identify a row of a table.
_KEYS = ("identifier", "index_id", "group", "field", "name", "date", "type", "row")


def _is_by_date(value: Any, dates: List[str]) -> bool:
    return bool(dates) and isinstance(value, list) and len(value) == len(dates) and all(map(_is_number, value))


def _is_named_by_date(value: Any, dates: List[str]) -> bool:
    if not isinstance(value, list) or value is dates or len(value) != len(dates) or all(map(_is_number, value)):
        return False
    return all(one is None or isinstance(one, str) for one in value)


def _numbers(values: List[Any]) -> Any:
    return pandas.Series(values, dtype="float64").to_numpy()


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def flat(row: Any) -> Any:
    """Flattens a row: adds the members of its members."""
    if not isinstance(row, Mapping):
        return {"value": row}
    result: Dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and value:
            result.update((f"{name}.{inner}", cell) for inner, cell in flat(value).items())
        else:
            result[name] = value
    return result


def _is_series(value: Mapping[str, Any]) -> bool:
    return value.keys() == {"index", "data", "name"}


def _is_table(value: Mapping[str, Any]) -> bool:
    return value.keys() == {"index", "columns", "data"}


def _dated(frame: Any) -> Any:
    """Converts an index of dates, as text or Python dates, to the index type of pandas."""
    labels = frame.index
    if len(labels) == 0 or not all(_is_day(label) for label in labels):
        return frame
    return frame.set_axis(pandas.to_datetime(labels).astype("datetime64[ns]").rename(None))


def _is_day(label: Any) -> bool:
    return hasattr(label, "isoformat") or (isinstance(label, str) and DATE.fullmatch(label) is not None)


dated = _dated


def with_dates(frame: Any, columns: Iterable[str]) -> Any:
    """Converts columns of dates to datetime64[ns], the type of an index of dates."""
    for name in columns:
        frame[name] = pandas.to_datetime(frame[name]).astype("datetime64[ns]")
    return frame


#: Number of cells from which a frame is sent as Parquet: as JSON they are a megabyte or two.
LARGE_CELLS = 100_000


def is_large(table: Any) -> bool:
    """Returns True for a frame that is too large for JSON."""
    return hasattr(table, "to_pandas") or (hasattr(table, "iloc") and table.size > LARGE_CELLS)


def as_frame(table: Any) -> Any:
    """Converts a table to a frame with a row for each security and date."""
    if hasattr(table, "to_pandas"):
        table = table.to_pandas()
    if hasattr(table, "iloc"):
        return long(table)
    return pandas.DataFrame(**table) if isinstance(table, Mapping) else pandas.DataFrame(list(table))


def check(name: str, table: Any) -> None:
    """Checks that a table can be sent.

    :raises ValueError: for a Series without names, levels of an index that would be one column, infinite numbers, and
        cells that are no value of JSON
    """
    if not hasattr(table, "iloc"):
        return
    if not hasattr(table, "columns"):
        if table.index.nlevels < 2:
            raise ValueError(
                f"The table {name} is a Series, which has no identifiers: send series.to_frame('CLOSE').assign(identifier='AAPL')."
            )
        table = table.to_frame("CLOSE" if table.name is None else table.name)
    labels = [_label(table.index, level) for level in range(table.index.nlevels)]
    held = [label for label in labels if label is not None]
    twice = next((label for label in held if held.count(label) > 1), None)
    if twice is not None:
        raise ValueError(
            f"The index of the table {name} has {len(labels)} levels, of which {held.count(twice)} would become the column {twice}: "
            "name them by rename_axis(index=[...]), or remove unneeded ones by droplevel."
        )
    for at, column in enumerate(table.columns):
        values = table.iloc[:, at]
        if values.dtype.kind == "O":
            _check_cells(name, column, values)
        if values.dtype.kind != "f":
            continue
        infinite = (values.abs() == float("inf")).fillna(False).to_numpy(dtype=bool)
        if infinite.any():
            row = int(infinite.argmax())
            raise ValueError(
                f"{column} of the table {name} is {values.iloc[row]} in row {row + 1} ({table.index[row]}): a finite number is required, or NaN for a missing value."
            )


def _check_cells(name: str, column: Any, values: Any) -> None:
    """Checks each type of cell once, each cell only of types with missing values, and no columns of texts."""
    if isinstance(values.dtype, pandas.StringDtype):
        return
    kinds = set(map(type, values.array))
    if all(issubclass(kind, (str, bool, int)) or kind is type(None) for kind in kinds):
        return
    for row, value in enumerate(values):
        try:
            _cell(value)
        except ValueError as cause:
            raise ValueError(f"{column} of the table {name} is {cause} in row {row + 1} ({values.index[row]}).") from None


def _cell(value: Any) -> Any:
    """Converts a cell to JSON; missing values of any library become null.

    :raises ValueError: for a value that cannot be sent
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if number in (float("inf"), float("-inf")):
            raise ValueError(f"{value}, where a finite number is required, or NaN for a missing value,")
        return None if number != number else number
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "isoformat"):
        return value
    if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        return _cell(value.item()) if value.dtype.kind != "M" else _cell(pandas.Timestamp(value))
    raise ValueError(f"{type(value).__name__} {str(value)[:40]!r}, which cannot be sent,")


def warn_of_adjusted(table: Any) -> None:
    """Warns that no dividends are derived from adjusted closes next to closes."""
    if not hasattr(table, "columns"):
        return
    labels = {str(label) for level in range(table.columns.nlevels) for label in table.columns.get_level_values(level)}
    adjusted = next((label for label in sorted(labels) if _plain(label) in _ADJUSTED), None)
    if adjusted is not None and "close" in map(_plain, labels):
        warnings.warn(
            f"{adjusted} is stored as a datapoint, and no dividends are derived from it: mapping={{'adjusted_close': {adjusted!r}}} "
            "derives them; mapping={} keeps the datapoint and stops this warning.",
            UserWarning,
            stacklevel=3,
        )


_ADJUSTED = ("adjclose", "adjustedclose", "closeadj")


def _plain(label: str) -> str:
    return "".join(letter for letter in label.lower() if letter.isalnum())


def assert_long(table: Any) -> None:
    """Refuses a wide frame (dates in rows, securities in columns) without a mapping.

    :raises ValueError: with the mapping that reads it
    """
    if not hasattr(table, "columns") or table.columns.nlevels != 1:
        return
    held = [str(name) for name in long(table.head(1)).columns]
    known = {name.lower() for name in held}
    names = [name for name in held if name.lower() != "date"]
    if "date" not in known or known & {"close", *_NAMES} or len(names) < 1:
        return
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    raise ValueError(
        f"The market has neither a column identifier nor CLOSE, but {len(names)} other columns in addition to its dates: {listed}. "
        "If each contains the closes of a security, mapping={'layout': 'wide', 'field': 'CLOSE'} reads it; else mapping={'columns': "
        "{'identifier': ..., 'CLOSE': ...}} names the columns."
    )


def split(name: str, table: Any) -> Mapping[str, Any]:
    """Converts a table to the three members that the service reads.

    :raises ValueError: with column and row of a cell that cannot be sent
    """
    if isinstance(table, Mapping):
        return _sendable(name, table) if table.keys() >= {"columns", "data"} else table
    if hasattr(table, "to_dict"):
        return _sendable(name, long(table).to_dict("split"))
    rows: Sequence[Mapping[str, Any]] = list(table)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    data = [[row.get(column) for column in columns] for row in rows]
    return _sendable(name, {"index": list(range(len(rows))), "columns": columns, "data": data})


def long(frame: Any) -> Any:
    """Converts a frame to a row for each security and date: dates and identifiers of its index become columns, and so do those of columns
    with a field and an identifier, as in downloads of several securities."""
    if not hasattr(frame, "columns"):
        frame = frame.to_frame(frame.name or "CLOSE")
    if frame.columns.nlevels == 2:
        names = _name_level(frame.columns)
        try:
            frame = frame.stack(names, future_stack=True)
        except TypeError:  # before pandas 2.1
            frame = frame.stack(names, dropna=False)
        frame = frame[frame.notna().any(axis=1)]
    held = {str(name).lower() for name in frame.columns}
    labels = [_label(frame.index, level) for level in range(frame.index.nlevels)]
    frame = frame.set_axis(frame.index.set_names(labels)).rename_axis(columns=None)
    needless = [level for level, label in enumerate(labels) if label is None or label.lower() in held]
    if len(needless) == len(labels):
        return frame.reset_index(drop=True)
    return frame.reset_index(level=needless, drop=True).reset_index()


#: Names of an index level with identifiers.
_NAMES = ("identifier", "ticker", "tickers", "symbol", "name", "asset", "asset_id")


#: Names of fields of a bar.
_FIELDS = ("close", "adj close", "adj_close", "open", "high", "low", "volume")


def _name_level(columns: Any) -> int:
    """Returns the column level with identifiers: the one with that name, else the one without fields, else the second."""
    called = [level for level in (0, 1) if str(columns.names[level]).lower() in _NAMES]
    if called:
        return called[0]
    return 0 if any(str(label).lower() in _FIELDS for label in columns.get_level_values(1)) else 1


def _label(index: Any, level: int) -> Optional[str]:
    """Returns the column name of an index level; None for row numbers."""
    labels, name = index.get_level_values(level), index.names[level]
    if hasattr(labels, "tz") or str(name).lower() == "date":
        return "date"
    if name is None:
        return None if labels.dtype.kind in "iu" else "identifier"
    return "identifier" if str(name).lower() in _NAMES else str(name)


def _sendable(name: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Converts the cells of a table to JSON."""
    data = []
    for at, row in enumerate(table["data"]):
        try:
            data.append([_cell(cell) for cell in row])
        except ValueError:
            for column, cell in zip(table["columns"], row):
                _named_cell(name, column, at, cell)
    return {**table, "data": data}


def _named_cell(name: str, column: Any, row: int, value: Any) -> None:
    try:
        _cell(value)
    except ValueError as cause:
        raise ValueError(f"{column} of the table {name} is {cause} in row {row + 1}.") from None
