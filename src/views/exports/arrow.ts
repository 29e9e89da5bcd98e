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
import { MISSING_INTEGER, type NamedColumn, type TextValues } from './batch.js';
import type { PartInput, PartWriter } from './part.js';

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
export function createArrowWriter({ runId, table, columns, from, sink }: PartInput): PartWriter {
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
