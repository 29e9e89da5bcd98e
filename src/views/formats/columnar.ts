import {
  type Data,
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
} from 'apache-arrow';
import {
  type ColumnShape,
  createGroupEntry,
  encodeChunk,
  encodeFooter,
  encodeStruct,
  PARQUET_MAGIC,
  type ParquetColumn,
} from '#base/parquet.js';
import type { ColumnType, ExportColumn, RowFormat, WrittenRowGroups } from '#domain/outputs/exports.js';
import {
  type ColumnValues,
  MISSING_INTEGER,
  type NamedColumn,
  type PartInput,
  type PartWriter,
  type TextValues,
} from './batch.js';
import { createCsvWriter, createJsonRowsWriter } from './text.js';

/** A dated table of numbers. NaN marks a missing value. */
interface ArrowSource {
  /** Days since 1970-01-01. */
  readonly days: Int32Array;
  readonly columns: readonly { readonly name: string; readonly values: Float64Array }[];
}

/**
 * Encodes a dated table as an Arrow IPC stream. It has a column `date` (date32) and one float64 column per field, with
 * nulls for missing values. The rest of the body is JSON under the key `body` of the schema metadata.
 */
export function encodeArrowTable({ days, columns }: ArrowSource, body: Readonly<Record<string, unknown>>): Uint8Array {
  const schema = new Schema(
    [new Field('date', new DateDay(), false), ...columns.map(({ name }) => new Field(name, new Float64(), true))],
    new Map([['body', JSON.stringify(body)]]),
  );
  const children: Data[] = [
    makeData({ type: new DateDay(), length: days.length, nullCount: 0, data: days }),
    ...columns.map(({ values }) => createDoubles(values)),
  ];
  const batch = new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: days.length, nullCount: 0, children }),
  );
  return tableToIPC(new Table(schema, [batch]), 'stream');
}

function createDoubles(values: Float64Array): Data<Float64> {
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 8));
  let nullCount = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) nullBitmap[i >> 3]! |= 1 << (i & 7);
    else nullCount += 1;
  }
  return makeData({ type: new Float64(), length: values.length, nullCount, nullBitmap, data: values });
}

/** Size in bytes of the end of an Arrow IPC stream. The end is a continuation marker and a length of zero. */
const END_BYTES = 8;

const ARROW_TYPES = { date: DateDay, text: Utf8, number: Float64, count: Int32 } as const satisfies Record<
  ColumnType,
  unknown
>;

/**
 * Creates a writer of an Arrow IPC stream. Its columns are date32, utf8, float64 and int32 and can contain nulls. The
 * metadata of a column contains its unit and meaning. Only the first part contains the schema, and only the last part
 * contains the end of the stream.
 */
function createArrowWriter({ runId, table, columns, from, sink }: PartInput): PartWriter {
  const schema = createSchema({ runId, table }, columns);
  const head = encodeStream(schema, []).length - END_BYTES;
  let length = 0;
  const add = (chunk: Uint8Array): void => {
    sink.append(chunk);
    length += chunk.length;
  };
  if (from.at === 0) add(encodeStream(schema, []).subarray(0, head));
  return {
    rows(namedColumns, count) {
      const stream = encodeStream(schema, [createRecordBatch(schema, { columns: namedColumns, count })]);
      add(stream.subarray(head, -END_BYTES));
    },
    length: () => length,
    end(isLast) {
      if (isLast) add(encodeStream(schema, []).subarray(-END_BYTES));
    },
  };
}

function encodeStream(schema: Schema, batches: readonly RecordBatch[]): Uint8Array {
  return tableToIPC(new Table(schema, [...batches]), 'stream');
}

function createSchema(
  { runId, table }: Pick<PartInput, 'runId' | 'table'>,
  columns: Readonly<Record<string, ExportColumn>>,
): Schema {
  const fields = Object.entries(columns).map(([name, { type, unit, meaning }]) => {
    const metadata = new Map([['meaning', meaning], ...(unit === null ? [] : [['unit', unit] as const])]);
    return new Field(name, new ARROW_TYPES[type](), true, metadata);
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
}

function createRecordBatch(schema: Schema, { columns, count }: BatchInput): RecordBatch {
  const children = columns.map((column) => buildData(column, count));
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: count, nullCount: 0, children }));
}

function buildData({ type, values }: NamedColumn, length: number): Data {
  // The type of a column determines the type of its values.
  switch (type) {
    case 'text':
      return createTexts(values as TextValues, length);
    case 'date':
      return createData(new DateDay(), values as Int32Array, length);
    case 'count':
      return createData(new Int32(), values as Int32Array, length);
    default: {
      const data = values as Float64Array;
      return makeData({ type: new Float64(), length, data, ...createValidity(data, length, Number.NaN) });
    }
  }
}

function createData(type: DateDay | Int32, data: Int32Array, length: number): Data {
  const result = createValidity(data, length, MISSING_INTEGER);
  return type instanceof Int32
    ? makeData({ type, length, data, ...result })
    : makeData({ type, length, data, ...result });
}

interface Validity {
  readonly nullBitmap: Uint8Array;
  readonly nullCount: number;
}

/**
 * Returns the validity bitmap of some values. A value is invalid if it is NaN or equals `missingValue`. The bitmap is
 * empty if all values are valid.
 */
function createValidity(data: Int32Array | Float64Array, length: number, missingValue: number): Validity {
  let row = 0;
  while (row < length && isValue(data[row]!, missingValue)) row++;
  if (row === length) return { nullBitmap: ALL_VALID, nullCount: 0 };
  const nullBitmap = new Uint8Array(Math.ceil(length / 8));
  let validCount = row;
  for (let validRow = 0; validRow < row; validRow++) nullBitmap[validRow >> 3]! |= 1 << (validRow & 7);
  for (; row < length; row++) {
    if (!isValue(data[row]!, missingValue)) continue;
    nullBitmap[row >> 3]! |= 1 << (row & 7);
    validCount++;
  }
  return { nullBitmap, nullCount: length - validCount };
}

const ALL_VALID = new Uint8Array(0);

const isValue = (value: number, missingValue: number): boolean => value !== missingValue && value === value;

/** Texts of a list as UTF-8. Each text starts at a multiple of four bytes. */
interface EncodedTexts {
  /** Length of each text in bytes. */
  readonly lengths: Int32Array;
  /**
   * First word of each text. The next field contains the words in little-endian order. The last word of a text is
   * padded with zeros.
   */
  readonly starts: Int32Array;
  readonly words: Uint32Array;
  /** Rows that were written last. They are used again, because consecutive dates often have the same holdings. */
  last: { readonly codes: Int32Array; readonly data: Data<Utf8> } | undefined;
}

/** Encoded lists. All parts of an export share them. */
const encodedTextsCache = new WeakMap<readonly string[], EncodedTexts>();

const ENCODER = new TextEncoder();
const WORD_BYTES = 4;

function encodeTexts(list: readonly string[]): EncodedTexts {
  const cachedTexts = encodedTextsCache.get(list);
  if (cachedTexts !== undefined) return cachedTexts;
  const textBytes = list.map((text) => ENCODER.encode(text));
  const lengths = Int32Array.from(textBytes, ({ length }) => length);
  const starts = new Int32Array(textBytes.length);
  let end = 0;
  for (const [i, { length }] of textBytes.entries()) {
    starts[i] = end;
    end += Math.ceil(length / WORD_BYTES);
  }
  const bytes = new Uint8Array(end * WORD_BYTES);
  for (const [i, text] of textBytes.entries()) bytes.set(text, starts[i]! * WORD_BYTES);
  const view = new DataView(bytes.buffer);
  const words = Uint32Array.from({ length: end }, (_, word) => view.getUint32(word * WORD_BYTES, true));
  const encodedTexts: EncodedTexts = { lengths, starts, words, last: undefined };
  encodedTextsCache.set(list, encodedTexts);
  return encodedTexts;
}

function createTexts({ codes, texts: list }: TextValues, length: number): Data<Utf8> {
  const encodedTexts = encodeTexts(list);
  const { last } = encodedTexts;
  if (last !== undefined && areSame(last.codes, codes, length)) return last.data;
  const data = createTextData(encodedTexts, codes, length);
  encodedTexts.last = { codes: codes.slice(0, length), data };
  return data;
}

function areSame(codes: Int32Array, other: Int32Array, length: number): boolean {
  if (codes.length !== length) return false;
  for (let row = 0; row < length; row++) if (codes[row] !== other[row]) return false;
  return true;
}

function createTextData({ lengths, starts, words }: EncodedTexts, codes: Int32Array, length: number): Data<Utf8> {
  const valueOffsets = new Int32Array(length + 1);
  let end = 0;
  for (let row = 0; row < length; row++) {
    const code = codes[row]!;
    if (code >= 0) end += lengths[code]!;
    valueOffsets[row + 1] = end;
  }
  // Whole words are written. A text may therefore overwrite up to three bytes after its end; the next text overwrites
  // them again.
  const frame = new DataView(new ArrayBuffer(end + WORD_BYTES));
  for (let row = 0; row < length; row++) {
    const code = codes[row]!;
    if (code < 0) continue;
    const stop = valueOffsets[row + 1]!;
    for (let offset = valueOffsets[row]!, word = starts[code]!; offset < stop; offset += WORD_BYTES)
      frame.setUint32(offset, words[word++]!, true);
  }
  const data = new Uint8Array(frame.buffer, 0, end);
  return makeData({ type: new Utf8(), length, valueOffsets, data, ...createValidity(codes, length, -1) });
}

const NO_GROUPS: WrittenRowGroups = { fileBytes: 0, count: 0, bytes: new Uint8Array(0) };

/**
 * Approximate size of a written value in bytes. Dates and texts are small, because they are written as positions in a
 * list.
 */
const WIDTHS: Readonly<Record<ColumnType, number>> = { date: 1, text: 2, count: 4, number: 8 };

const PARQUET_KINDS = {
  date: 'coded-day',
  text: 'coded-text',
  count: 'integer',
  number: 'double',
} as const satisfies Record<ColumnType, ParquetColumn['kind']>;

interface BufferedBatch {
  readonly columns: readonly NamedColumn[];
  readonly count: number;
}

/**
 * Creates a writer of a Parquet file. Its columns are dates, UTF-8 texts, doubles and 32-bit integers and can contain
 * nulls. The file metadata contains the unit and meaning of each column. Each part is a row group. The position of the
 * next part contains the locations of the row groups, which the footer needs.
 */
function createParquetWriter({ runId, table, columns, from, sink }: PartInput): PartWriter {
  const previousGroups = from.groups ?? NO_GROUPS;
  const bufferedBatches: BufferedBatch[] = [];
  const rowBytes = Object.values(columns).reduce((sum, { type }) => sum + WIDTHS[type], 0);
  let rows = 0;
  let { fileBytes } = previousGroups;
  const add = (bytes: Uint8Array): void => {
    sink.append(bytes);
    fileBytes += bytes.length;
  };
  function addGroup(): WrittenRowGroups {
    if (rows === 0) return { ...previousGroups, fileBytes };
    const chunks = joinBatches(bufferedBatches, rows).map((column) => {
      const chunk = encodeChunk(column, rows, fileBytes);
      for (const piece of chunk.pieces) add(piece);
      return { ...chunk, pieces: [] };
    });
    const entry = encodeStruct(createGroupEntry(chunks, rows));
    const bytes = new Uint8Array(previousGroups.bytes.length + entry.length);
    bytes.set(previousGroups.bytes);
    bytes.set(entry, previousGroups.bytes.length);
    return { fileBytes, count: previousGroups.count + 1, bytes };
  }
  return {
    rows(namedColumns, count) {
      rows += count;
      bufferedBatches.push({
        columns: namedColumns.map((column) => ({ ...column, values: copyValues(column.values) })),
        count,
      });
    },
    length: () => rows * rowBytes,
    end(isLast) {
      if (fileBytes === 0) add(PARQUET_MAGIC);
      const groups = addGroup();
      if (isLast)
        add(
          encodeFooter({
            columns: Object.entries(columns).map(createShape),
            rows: from.rows + rows,
            groups,
            metadata: listMetadata({ runId, table }, columns),
          }),
        );
      return { ...groups, fileBytes };
    },
  };
}

const createShape = ([name, { type }]: readonly [string, ExportColumn]): ColumnShape => ({
  name,
  kind: PARQUET_KINDS[type],
  isOptional: true,
});

function listMetadata(
  { runId, table }: Pick<PartInput, 'runId' | 'table'>,
  columns: Readonly<Record<string, ExportColumn>>,
): (readonly [string, string])[] {
  const columnMetadata = Object.entries(columns).flatMap(([name, { unit, meaning }]) => [
    ...(unit === null ? [] : [[`${name}.unit`, unit] as const]),
    [`${name}.meaning`, meaning] as const,
  ]);
  return [['index_id', runId], ['table', table], ...columnMetadata];
}

/** Copies values that must outlive their batch. */
function copyValues(values: ColumnValues): ColumnValues {
  return 'codes' in values ? { codes: values.codes.slice(), texts: values.texts } : values.slice();
}

function joinBatches(batches: readonly BufferedBatch[], rows: number): ParquetColumn[] {
  return batches[0]!.columns.map(({ name, type }, c): ParquetColumn => {
    const values = batches.map(({ columns, count }) => [columns[c]!.values, count] as const);
    // The type of a column determines the type of its values.
    switch (type) {
      case 'number':
        return {
          name,
          kind: 'double',
          values: concatenate(new Float64Array(rows), values as CountedRows<Float64Array>[]),
        };
      case 'count':
        return {
          name,
          kind: 'integer',
          values: concatenate(new Int32Array(rows), values as CountedRows<Int32Array>[]),
          none: MISSING_INTEGER,
        };
      case 'date':
        return encodeDays(name, concatenate(new Int32Array(rows), values as CountedRows<Int32Array>[]));
      case 'text':
        return encodeParquetTexts(name, rows, values as CountedRows<TextValues>[]);
    }
  });
}

type CountedRows<V> = readonly [values: V, count: number];

function concatenate<A extends Float64Array | Int32Array>(target: A, parts: readonly CountedRows<A>[]): A {
  let offset = 0;
  for (const [values, count] of parts) {
    target.set(values.subarray(0, count), offset);
    offset += count;
  }
  return target;
}

/** Encodes days as positions in a list. Rows are sorted by date, so a day is looked up only when it changes. */
function encodeDays(name: string, values: Int32Array): ParquetColumn {
  const positions = new Map<number, number>();
  const codes = new Int32Array(values.length);
  let last = MISSING_INTEGER;
  let code = -1;
  for (let row = 0; row < values.length; row++) {
    const day = values[row]!;
    if (day !== last) {
      last = day;
      code = day === MISSING_INTEGER ? -1 : (positions.get(day) ?? positions.size);
      if (code === positions.size) positions.set(day, code);
    }
    codes[row] = code;
  }
  return { name, kind: 'coded-day', codes, days: Int32Array.from(positions.keys()), isOptional: true };
}

function encodeParquetTexts(name: string, rows: number, parts: readonly CountedRows<TextValues>[]): ParquetColumn {
  const texts: string[] = [];
  const codes = new Int32Array(rows);
  let lastTexts: readonly string[] | undefined;
  let newCodes = new Int32Array(0);
  let offset = 0;
  for (const [{ codes: partCodes, texts: list }, count] of parts) {
    if (list !== lastTexts) {
      lastTexts = list;
      newCodes = new Int32Array(list.length).fill(-1);
    }
    for (let row = 0; row < count; row++) {
      const partCode = partCodes[row]!;
      if (partCode >= 0 && newCodes[partCode] === -1) newCodes[partCode] = texts.push(list[partCode]!) - 1;
      codes[offset++] = partCode < 0 ? -1 : newCodes[partCode]!;
    }
  }
  return { name, kind: 'coded-text', codes, texts, isOptional: true };
}

/** Writers by format. If a format has no writer, the code does not compile. */
export const PART_WRITERS: Readonly<Record<RowFormat, (input: PartInput) => PartWriter>> = {
  csv: createCsvWriter,
  arrow: createArrowWriter,
  parquet: createParquetWriter,
  json: createJsonRowsWriter,
};
