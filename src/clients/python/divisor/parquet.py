"""Writes frames as Parquet with numpy only: one row group at a time, uncompressed, texts by position in a dictionary.

Source: apache/parquet-format, version 1 data pages; Thrift's compact protocol.
"""

from __future__ import annotations

import datetime
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy
import pandas

MAGIC = b"PAR1"
#: Number of rows in memory as bytes at a time.
GROUP_ROWS = 1 << 18

_BOOLEAN, _INT32, _DOUBLE, _BYTE_ARRAY = 0, 1, 5, 6
_UTF8, _DATE = 0, 6
_PLAIN, _RLE, _DICTIONARY = 0, 3, 8
_OPTIONAL = 1


class _Kind(NamedTuple):
    physical: int
    converted: Optional[int]


_TEXT, _DAY, _NUMBER, _TRUTH = _Kind(_BYTE_ARRAY, _UTF8), _Kind(_INT32, _DATE), _Kind(_DOUBLE, None), _Kind(_BOOLEAN, None)


def parquet(frame: Any) -> Iterator[bytes]:
    """Yields the columns of a frame as the bytes of a Parquet file, in pieces, without the index.

    Cost: 1 GB a second of numbers; a text is looked up once.
    """
    names = [str(name) for name in frame.columns]
    kinds = [_kind_of(frame.iloc[:, i]) for i in range(len(names))]
    offset = len(MAGIC)
    groups: List[bytes] = []
    yield MAGIC
    for start in range(0, len(frame), GROUP_ROWS):
        rows = frame.iloc[start : start + GROUP_ROWS]
        chunks: List[bytes] = []
        first = offset
        for i, name in enumerate(names):
            pages, has_dictionary = _pages(rows.iloc[:, i], kinds[i])
            size = sum(len(page) for page in pages)
            at = offset + (len(pages[0]) if has_dictionary else 0)
            chunks.append(_chunk(name, kinds[i], len(rows), size, at, offset if has_dictionary else None))
            offset += size
            yield from pages
        groups.append(_struct((1, _list(_STRUCT, chunks)), (2, _i64(offset - first)), (3, _i64(len(rows)))))
    root = _struct((4, _binary(b"schema")), (5, _i32(len(names))))
    leaves = [_leaf(name, kind) for name, kind in zip(names, kinds)]
    footer = _struct(
        (1, _i32(1)), (2, _list(_STRUCT, [root, *leaves])), (3, _i64(len(frame))), (4, _list(_STRUCT, groups))
    )
    yield footer + len(footer).to_bytes(4, "little") + MAGIC


def _kind_of(column: Any) -> _Kind:
    kind = column.dtype.kind
    if kind == "M":
        return _DAY
    if kind == "b":
        return _TRUTH
    if kind in "iuf":
        return _NUMBER
    held = column.dropna()
    if len(held) > 0 and all(isinstance(value, datetime.date) for value in held):
        return _DAY
    if len(held) > 0 and all(isinstance(value, bool) for value in held):
        return _TRUTH
    if len(held) == 0 or pandas.api.types.is_string_dtype(column.dtype) and isinstance(held.iloc[0], str):
        return _TEXT
    try:
        held.astype("float64")
        return _NUMBER
    except (TypeError, ValueError):
        return _TEXT


def _pages(column: Any, kind: _Kind) -> Tuple[List[bytes], bool]:
    """Returns the pages of a column of one row group, and True if the first is a dictionary."""
    is_held = column.notna().to_numpy(dtype=bool)
    levels = _levels(is_held)
    held = column if is_held.all() else column[is_held]
    rows = len(column)
    if kind is _TEXT:
        codes, texts = pandas.factorize(held.astype(str), sort=False)
        plain = b"".join(len(text).to_bytes(4, "little") + text for text in (str(text).encode() for text in texts))
        wide = "<u1" if len(texts) <= 1 << 8 else "<u2" if len(texts) <= 1 << 16 else "<u4"
        packed = _packed(numpy.asarray(codes).astype(wide))
        body = bytes([numpy.dtype(wide).itemsize * 8]) + packed
        return [_page(2, plain, len(texts), _PLAIN), _page(0, levels + body, rows, _DICTIONARY)], True
    if kind is _DAY:
        times = pandas.to_datetime(held)
        if getattr(times.dt, "tz", None) is not None:
            times = times.dt.tz_localize(None)
        values: bytes = times.to_numpy().astype("datetime64[D]").astype("<i4").tobytes()
    elif kind is _TRUTH:
        values = numpy.packbits(held.to_numpy(dtype=bool), bitorder="little").tobytes()
    else:
        values = held.to_numpy(dtype="<f8").tobytes()
    return [_page(0, levels + values, rows, _PLAIN)], False


def _levels(is_held: Any) -> bytes:
    """Encodes which rows have a value: one bit each, in groups of eight."""
    bits: bytes = numpy.packbits(is_held, bitorder="little").tobytes()
    run = _varint(len(bits) << 1 | 1) + bits
    return len(run).to_bytes(4, "little") + run


def _packed(codes: Any) -> bytes:
    """Encodes codes of whole bytes as bit-packed groups of eight."""
    groups = -(-len(codes) // 8)
    padding = bytes((groups * 8 - len(codes)) * codes.dtype.itemsize)
    values: bytes = codes.tobytes()
    return _varint(groups << 1 | 1) + values + padding


def _page(kind: int, data: bytes, values: int, encoding: int) -> bytes:
    if kind == 2:
        detail = (7, _nested(_struct((1, _i32(values)), (2, _i32(encoding)))))
    else:
        detail = (5, _nested(_struct((1, _i32(values)), (2, _i32(encoding)), (3, _i32(_RLE)), (4, _i32(_RLE)))))
    return _struct((1, _i32(kind)), (2, _i32(len(data))), (3, _i32(len(data))), detail) + data


def _chunk(name: str, kind: _Kind, rows: int, size: int, data_at: int, dictionary_at: Optional[int]) -> bytes:
    encodings = [_zigzag(encoding) for encoding in ((_PLAIN, _RLE) if dictionary_at is None else (_PLAIN, _RLE, _DICTIONARY))]
    fields = [
        (1, _i32(kind.physical)),
        (2, _list(_I32, encodings)),
        (3, _list(_BINARY, [_length(name.encode())])),
        (4, _i32(0)),
        (5, _i64(rows)),
        (6, _i64(size)),
        (7, _i64(size)),
        (9, _i64(data_at)),
    ]
    if dictionary_at is not None:
        fields.append((11, _i64(dictionary_at)))
    return _struct((2, _i64(dictionary_at or data_at)), (3, _nested(_struct(*fields))))


def _leaf(name: str, kind: _Kind) -> bytes:
    fields = [(1, _i32(kind.physical)), (3, _i32(_OPTIONAL)), (4, _binary(name.encode()))]
    return _struct(*fields, *([] if kind.converted is None else [(6, _i32(kind.converted))]))


# Thrift's compact protocol: a value is its type and its bytes.

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_Value = Tuple[int, bytes]


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1)  # nothing here is negative


def _length(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _i32(value: int) -> _Value:
    return _I32, _zigzag(value)


def _i64(value: int) -> _Value:
    return _I64, _zigzag(value)


def _binary(data: bytes) -> _Value:
    return _BINARY, _length(data)


def _nested(data: bytes) -> _Value:
    return _STRUCT, data


def _list(kind: int, items: Sequence[bytes]) -> _Value:
    count = len(items)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)
    return _LIST, head + b"".join(items)


def _struct(*fields: Tuple[int, _Value]) -> bytes:
    parts: List[bytes] = []
    last = 0
    for number, (kind, data) in fields:
        parts.append(bytes([(number - last) << 4 | kind]) + data)
        last = number
    return b"".join(parts) + b"\0"
