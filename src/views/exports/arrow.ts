import {
  DateDay,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  type Data,
} from 'apache-arrow';
import type { ColumnType, ExportColumn } from '#domain/exports/export-table.js';
import { NONE, type NamedColumn, type TextValues } from './batch.js';
import type { PartInput, PartWriter } from './part.js';

/** The end of an Arrow IPC stream: a continuation mark and a length of zero. */
const END_BYTES = 8;

const TYPES = { date: DateDay, text: Utf8, number: Float64, count: Int32 } as const satisfies Record<
  ColumnType,
  unknown
>;

/**
 * An Arrow IPC stream: date32, utf8, float64 and int32 with nulls, unit and meaning of each column in its metadata. A
 * part is a whole stream without the schema, which stands in the first one, and without the end, which stands in the
 * last.
 */
export function createArrowWriter({ runId, table, columns, from, sink }: PartInput): PartWriter {
  const schema = schemaOf({ runId, table }, columns);
  const head = streamOf(schema, []).length - END_BYTES;
  const encoded = createEncoded();
  let length = 0;
  const add = (piece: Uint8Array): void => {
    sink.append(piece);
    length += piece.length;
  };
  if (from.at === 0) add(streamOf(schema, []).subarray(0, head));
  return {
    rows(named, count) {
      const stream = streamOf(schema, [recordBatch(schema, { columns: named, count, encoded })]);
      add(stream.subarray(head, -END_BYTES));
    },
    length: () => length,
    end(isLast) {
      if (isLast) add(streamOf(schema, []).subarray(-END_BYTES));
    },
  };
}

function streamOf(schema: Schema, batches: readonly RecordBatch[]): Uint8Array {
  return tableToIPC(new Table(schema, [...batches]), 'stream');
}

function schemaOf(
  { runId, table }: Pick<PartInput, 'runId' | 'table'>,
  columns: Readonly<Record<string, ExportColumn>>,
): Schema {
  const fields = Object.entries(columns).map(([name, { type, unit, meaning }]) => {
    const metadata = new Map([['meaning', meaning], ...(unit === null ? [] : [['unit', unit] as const])]);
    return new Field(name, new TYPES[type](), true, metadata);
  });
  return new Schema(
    fields,
    new Map([
      ['index_id', runId],
      ['table', table],
    ]),
  );
}

interface BatchInput {
  readonly columns: readonly NamedColumn[];
  readonly count: number;
  readonly encoded: Encoded;
}

function recordBatch(schema: Schema, { columns, count, encoded }: BatchInput): RecordBatch {
  const children = columns.map((column) => dataOf(column, count, encoded));
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: count, nullCount: 0, children }));
}

function dataOf({ type, values }: NamedColumn, length: number, encoded: Encoded): Data {
  // The values of a column are those of its type.
  switch (type) {
    case 'text':
      return texts(values as TextValues, length, encoded);
    case 'date':
      return whole(new DateDay(), values as Int32Array, length);
    case 'count':
      return whole(new Int32(), values as Int32Array, length);
    default: {
      const data = values as Float64Array;
      return makeData({ type: new Float64(), length, data, ...validity(data, length, Number.NaN) });
    }
  }
}

function whole(type: DateDay | Int32, data: Int32Array, length: number): Data {
  const found = validity(data, length, NONE);
  return type instanceof Int32
    ? makeData({ type, length, data, ...found })
    : makeData({ type, length, data, ...found });
}

interface Validity {
  readonly nullBitmap: Uint8Array;
  readonly nullCount: number;
}

/** All values but NaN and one. */
function validity(data: Int32Array | Float64Array, length: number, none: number): Validity {
  const nullBitmap = new Uint8Array(Math.ceil(length / 8));
  let valid = 0;
  for (let row = 0; row < length; row++) {
    const value = data[row]!;
    if (value === none || value !== value) continue;
    nullBitmap[row >> 3]! |= 1 << (row & 7);
    valid++;
  }
  return { nullBitmap, nullCount: length - valid };
}

/** Bytes of the texts of a list, each made when a row first has it. */
type Encoded = (list: readonly string[]) => (Uint8Array | undefined)[];

function createEncoded(): Encoded {
  const lists = new Map<readonly string[], (Uint8Array | undefined)[]>();
  return (list) => {
    const known = lists.get(list) ?? [];
    lists.set(list, known);
    return known;
  };
}

const ENCODER = new TextEncoder();

function texts({ codes, texts: list }: TextValues, length: number, encoded: Encoded): Data<Utf8> {
  const known = encoded(list);
  const valueOffsets = new Int32Array(length + 1);
  let end = 0;
  for (let row = 0; row < length; row++) {
    const code = codes[row]!;
    if (code >= 0) end += (known[code] ??= ENCODER.encode(list[code]!)).length;
    valueOffsets[row + 1] = end;
  }
  const data = new Uint8Array(end);
  for (let row = 0, at = 0; row < length; row++) {
    const code = codes[row]!;
    if (code < 0) continue;
    const bytes = known[code]!;
    for (let i = 0; i < bytes.length; i++) data[at++] = bytes[i]!; // Short: a call would take longer.
  }
  return makeData({ type: new Utf8(), length, valueOffsets, data, ...validity(codes, length, -1) });
}
