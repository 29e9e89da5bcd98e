/** Field types of Thrift's compact protocol, in which Parquet writes its metadata. */
const TYPE = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

/** Value of a field, by type. Parquet needs no other types. */
type ThriftValue =
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly text: string }
  | { readonly flag: boolean }
  | { readonly list: readonly ThriftValue[] }
  /** structs of a list that are already encoded */
  | { readonly encoded: EncodedStructs }
  | { readonly struct: ThriftStruct };

/** Encoded structs of a list, one after the other. */
interface EncodedStructs {
  readonly count: number;
  readonly bytes: Uint8Array;
}

/** Fields with their numbers, ascending. */
export type ThriftStruct = readonly (readonly [number, ThriftValue])[];

/** Encodes a struct in Thrift's compact protocol. @source apache/thrift doc/specs/thrift-compact-protocol.md */
export function encodeStruct(struct: ThriftStruct): Uint8Array {
  const bytes: number[] = [];
  putStruct(bytes, struct);
  return Uint8Array.from(bytes);
}

function putStruct(bytes: number[], struct: ThriftStruct): void {
  let last = 0;
  for (const [field, value] of struct) {
    bytes.push(((field - last) << 4) | getType(value));
    last = field;
    if (!('flag' in value)) putValue(bytes, value);
  }
  bytes.push(0);
}

function putValue(bytes: number[], value: ThriftValue): void {
  if ('i32' in value) putVarint(bytes, encodeZigzag(value.i32));
  else if ('i64' in value) putVarint(bytes, encodeZigzag(value.i64));
  else if ('text' in value) {
    const textBytes = new TextEncoder().encode(value.text);
    putVarint(bytes, textBytes.length);
    for (const byte of textBytes) bytes.push(byte);
  } else if ('list' in value) {
    putListHead(bytes, value.list.length, value.list.length === 0 ? TYPE.struct : getType(value.list[0]!));
    for (const item of value.list) putValue(bytes, item);
  } else if ('encoded' in value) {
    putListHead(bytes, value.encoded.count, TYPE.struct);
    for (const byte of value.encoded.bytes) bytes.push(byte);
  } else if ('struct' in value) putStruct(bytes, value.struct);
  else bytes.push(value.flag ? TYPE.true : TYPE.false);
}

function putListHead(bytes: number[], length: number, type: number): void {
  if (length < 15) bytes.push((length << 4) | type);
  else {
    bytes.push(0xf0 | type);
    putVarint(bytes, length);
  }
}

function getType(value: ThriftValue): number {
  if ('i32' in value) return TYPE.i32;
  if ('i64' in value) return TYPE.i64;
  if ('text' in value) return TYPE.binary;
  if ('list' in value || 'encoded' in value) return TYPE.list;
  if ('struct' in value) return TYPE.struct;
  return value.flag ? TYPE.true : TYPE.false;
}

/** Zigzag encoding without 32-bit arithmetic, because file offsets may exceed 32 bits. */
const encodeZigzag = (value: number) => (value >= 0 ? value * 2 : -value * 2 - 1);

/** Appends an unsigned integer up to 2^53, seven bits per byte. */
function putVarint(bytes: number[], value: number): void {
  let remainder = value;
  while (remainder >= 0x80) {
    bytes.push((remainder % 0x80) | 0x80);
    remainder = Math.floor(remainder / 0x80);
  }
  bytes.push(remainder);
}

/**
 * Encodes which rows of an optional column have a value (definition levels), after the length (u32, little endian). If
 * every row has a value, the levels are written as a single run.
 */
function encodeLevels(rowCount: number, isPresent: (row: number) => boolean): Uint8Array {
  let isWhole = true;
  for (let row = 0; row < rowCount && isWhole; row++) isWhole = isPresent(row);
  if (isWhole) return encodeWholeLevels(rowCount);
  const runs: number[] = [];
  putVarint(runs, Math.ceil(rowCount / 8) * 2 + 1);
  return addLength(
    runs,
    packBits(Math.ceil(rowCount / 8) * 8, (row) => (row < rowCount && isPresent(row) ? 1 : 0), 1),
  );
}

/** Encodes the definition levels of an optional column without missing values. */
function encodeWholeLevels(rowCount: number): Uint8Array {
  const run: number[] = [];
  putVarint(run, rowCount * 2);
  return addLength([...run, 1], new Uint8Array(0));
}

function addLength(runs: readonly number[], packed: Uint8Array): Uint8Array {
  const levels = new Uint8Array(4 + runs.length + packed.length);
  new DataView(levels.buffer).setUint32(0, runs.length + packed.length, true);
  levels.set(runs, 4);
  levels.set(packed, 4 + runs.length);
  return levels;
}

/** Minimum length of a run; shorter runs are bit-packed. */
const RUN_MIN = 64;

/**
 * Encodes codes of `width` bits each as runs of one value and runs of packed bits.
 * @source parquet-format Encodings.md, RLE/bit-packing hybrid.
 */
function encodeHybrid(codes: Int32Array, width: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = 0;
  const flush = (to: number) => {
    if (to === from) return;
    const groupCount = Math.ceil((to - from) / 8);
    const header: number[] = [];
    putVarint(header, groupCount * 2 + 1);
    const start = from;
    parts.push(
      Uint8Array.from(header),
      packBits(groupCount * 8, (i) => (start + i < to ? codes[start + i]! : 0), width),
    );
    from = to;
  };
  for (let i = 0; i < codes.length;) {
    let end = i + 1;
    while (end < codes.length && codes[end] === codes[i]) end += 1;
    // A bit-packed run in the middle consists of whole groups of eight, so that the next run begins at the end of a
    // group.
    const start = from + Math.ceil((i - from) / 8) * 8;
    if (end - start >= RUN_MIN) {
      flush(start);
      const run: number[] = [];
      putVarint(run, (end - start) * 2);
      for (let shift = 0; shift < width; shift += 8) run.push((codes[i]! >>> shift) & 0xff);
      parts.push(Uint8Array.from(run));
      from = end;
    }
    i = end;
  }
  flush(codes.length);
  return Buffer.concat(parts);
}

/** Packs values of `width` bits consecutively, least significant bit first. */
function packBits(count: number, valueAt: (i: number) => number, width: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((count * width) / 8));
  let pendingBits = 0;
  let bits = 0;
  let offset = 0;
  for (let i = 0; i < count; i++) {
    pendingBits |= valueAt(i) << bits;
    bits += width;
    while (bits >= 8) {
      bytes[offset++] = pendingBits & 0xff;
      pendingBits >>>= 8;
      bits -= 8;
    }
  }
  if (bits > 0) bytes[offset] = pendingBits & 0xff;
  return bytes;
}

/**
 * Columns of one row group. A missing text, boolean or day is null, a missing double is NaN, and a missing integer is
 * `none`.
 */
export type ParquetColumn =
  | { readonly name: string; readonly kind: 'text'; readonly values: readonly (string | null)[] }
  | { readonly name: string; readonly kind: 'boolean'; readonly values: readonly (boolean | null)[] }
  | { readonly name: string; readonly kind: 'day'; readonly values: readonly (number | null)[] }
  | { readonly name: string; readonly kind: 'double'; readonly values: Float64Array }
  | { readonly name: string; readonly kind: 'integer'; readonly values: Int32Array; readonly none: number }
  /**
   * Column of texts or days, stored as positions in a list so that each distinct value is written once. In an optional
   * column, -1 is a missing value.
   */
  | {
      readonly name: string;
      readonly kind: 'coded-text';
      readonly codes: Int32Array;
      readonly texts: readonly string[];
      readonly isOptional?: true;
    }
  | {
      readonly name: string;
      readonly kind: 'coded-day';
      readonly codes: Int32Array;
      readonly days: Int32Array;
      readonly isOptional?: true;
    };

const ENCODING = { PLAIN: 0, RLE: 3, RLE_DICTIONARY: 8 } as const;

const PAGE = { DATA: 0, DICTIONARY: 2 } as const;

/**
 * Maximum number of distinct values of a column that is written as positions in a list. A column with fewer than twice
 * as many values is written plain.
 */
const DISTINCT_MAX = 1 << 12;

interface EncodedColumn {
  readonly dictionary?: Uint8Array;
  readonly data: Uint8Array;
  readonly encoding: number;
}

function encodeColumn(column: ParquetColumn, rowCount: number): EncodedColumn {
  switch (column.kind) {
    case 'coded-text':
      return encodeCodedColumn(column, encodePlainTexts(column.texts), column.texts.length, rowCount);
    case 'coded-day':
      return encodeCodedColumn(column, getBytes(column.days), column.days.length, rowCount);
    case 'integer': {
      const { values, none } = column;
      const presentValues = values.filter((value) => value !== none);
      return encodePlainColumn(
        getBytes(presentValues),
        encodeLevels(rowCount, (row) => values[row] !== none),
        rowCount,
      );
    }
    case 'double':
      return encodeDoubleColumn(column.values, rowCount);
    case 'text':
      return encodeTextColumn(column.values, rowCount);
    case 'day': {
      const presentValues = column.values.filter((value) => value !== null);
      return encodePlainColumn(
        getBytes(Int32Array.from(presentValues)),
        encodeLevels(rowCount, (row) => column.values[row] !== null),
        rowCount,
      );
    }
    case 'boolean': {
      const presentValues = column.values.filter((value) => value !== null);
      return encodePlainColumn(
        packBits(presentValues.length, (i) => (presentValues[i] === true ? 1 : 0), 1),
        encodeLevels(rowCount, (row) => column.values[row] !== null),
        rowCount,
      );
    }
  }
}

/** Levels of a required column. */
const NO_LEVELS = new Uint8Array(0);

function encodeCodedColumn(
  { codes, isOptional }: { readonly codes: Int32Array; readonly isOptional?: true },
  dictionary: Uint8Array,
  entryCount: number,
  rowCount: number,
): EncodedColumn {
  if (isOptional !== true) return encodeDictionaryColumn(dictionary, entryCount, codes, NO_LEVELS, rowCount);
  let first = 0;
  while (first < rowCount && codes[first]! >= 0) first++;
  const presentCodes = first === rowCount ? codes : codes.filter((code) => code >= 0);
  const levels = first === rowCount ? encodeWholeLevels(rowCount) : encodeLevels(rowCount, (row) => codes[row]! >= 0);
  return encodeDictionaryColumn(dictionary, entryCount, presentCodes, levels, rowCount);
}

function encodeTextColumn(values: readonly (string | null)[], rowCount: number): EncodedColumn {
  const presentValues = values.filter((value) => value !== null);
  const levels = encodeLevels(rowCount, (row) => values[row] !== null);
  const codedValues = assignCodes(presentValues);
  return codedValues === undefined
    ? encodePlainColumn(encodePlainTexts(presentValues), levels, rowCount)
    : encodeDictionaryColumn(
        encodePlainTexts(codedValues.distinct),
        codedValues.distinct.length,
        codedValues.codes,
        levels,
        rowCount,
      );
}

function encodeDoubleColumn(values: Float64Array, rowCount: number): EncodedColumn {
  let first = 0;
  while (first < rowCount && values[first] === values[first]) first++;
  const presentValues = first === rowCount ? values.subarray(0, rowCount) : removeNaN(values, rowCount);
  const levels =
    first === rowCount ? encodeWholeLevels(rowCount) : encodeLevels(rowCount, (row) => values[row] === values[row]);
  const codedValues = assignCodes(presentValues);
  return codedValues === undefined
    ? encodePlainColumn(getBytes(presentValues), levels, rowCount)
    : encodeDictionaryColumn(
        getBytes(Float64Array.from(codedValues.distinct)),
        codedValues.distinct.length,
        codedValues.codes,
        levels,
        rowCount,
      );
}

function removeNaN(values: Float64Array, rowCount: number): Float64Array {
  const presentValues = new Float64Array(rowCount);
  let count = 0;
  for (let row = 0; row < rowCount; row++) {
    const value = values[row]!;
    if (value === value) presentValues[count++] = value;
  }
  return presentValues.subarray(0, count);
}

/**
 * Replaces each value by its position among the distinct values. Returns undefined if there are too many distinct
 * values to save space.
 */
function assignCodes<T extends number | string>(
  values: ArrayLike<T>,
): { readonly codes: Int32Array; readonly distinct: readonly T[] } | undefined {
  if (values.length < 2 * DISTINCT_MAX) return undefined;
  const positions = new Map<T, number>();
  const codes = new Int32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    let code = positions.get(value);
    if (code === undefined) {
      if (positions.size === DISTINCT_MAX) return undefined;
      code = positions.size;
      positions.set(value, code);
    }
    codes[i] = code;
  }
  return { codes, distinct: [...positions.keys()] };
}

function encodePlainColumn(values: Uint8Array, levels: Uint8Array, rowCount: number): EncodedColumn {
  return { data: encodePage(PAGE.DATA, [levels, values], rowCount, ENCODING.PLAIN), encoding: ENCODING.PLAIN };
}

function encodeDictionaryColumn(
  dictionary: Uint8Array,
  entryCount: number,
  codes: Int32Array,
  levels: Uint8Array,
  rowCount: number,
): EncodedColumn {
  const width = Math.max(1, Math.ceil(Math.log2(Math.max(2, entryCount))));
  const body = encodeHybrid(codes, width);
  return {
    dictionary: encodePage(PAGE.DICTIONARY, [dictionary], entryCount, ENCODING.PLAIN),
    data: encodePage(PAGE.DATA, [levels, Uint8Array.of(width), body], rowCount, ENCODING.RLE_DICTIONARY),
    encoding: ENCODING.RLE_DICTIONARY,
  };
}

function encodePage(type: number, parts: readonly Uint8Array[], valueCount: number, encoding: number): Uint8Array {
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  const detail: ThriftStruct =
    type === PAGE.DICTIONARY
      ? [
          [1, { i32: valueCount }],
          [2, { i32: encoding }],
        ]
      : [
          [1, { i32: valueCount }],
          [2, { i32: encoding }],
          [3, { i32: ENCODING.RLE }],
          [4, { i32: ENCODING.RLE }],
        ];
  const header = encodeStruct([
    [1, { i32: type }],
    [2, { i32: size }],
    [3, { i32: size }],
    [type === PAGE.DICTIONARY ? 7 : 5, { struct: detail }],
  ]);
  const bytes = new Uint8Array(header.length + size);
  bytes.set(header);
  let offset = header.length;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function encodePlainTexts(texts: readonly string[]): Uint8Array {
  const encodedTexts = texts.map((text) => new TextEncoder().encode(text));
  const bytes = new Uint8Array(encodedTexts.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const textBytes of encodedTexts) {
    view.setUint32(offset, textBytes.length, true);
    bytes.set(textBytes, offset + 4);
    offset += 4 + textBytes.length;
  }
  return bytes;
}

const getBytes = (values: Int32Array | Float64Array) =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** First and last bytes of a Parquet file. */
export const PARQUET_MAGIC = new TextEncoder().encode('PAR1');

const PHYSICAL_TYPES = { BOOLEAN: 0, INT32: 1, DOUBLE: 5, BYTE_ARRAY: 6 } as const;
const UNCOMPRESSED_CODEC = 0;
const CONVERTED_TYPES = { UTF8: 0, DATE: 6 } as const;

/** A column without its values. */
export type ColumnShape = Pick<ParquetColumn, 'name' | 'kind'> & { readonly isOptional?: true };

/** Bytes of one column of a row group, and its entry in the footer. */
export interface EncodedChunk {
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
  readonly entry: ThriftValue;
}

/**
 * Encodes one column of a row group, uncompressed.
 * @param from offset of its first byte in the file
 * @source apache/parquet-format, version 1 data pages.
 */
export function encodeChunk(column: ParquetColumn, rowCount: number, from: number): EncodedChunk {
  const { dictionary, data, encoding } = encodeColumn(column, rowCount);
  const pages = dictionary === undefined ? [data] : [dictionary, data];
  const bytes = pages.reduce((sum, { length }) => sum + length, 0);
  const dataOffset = from + (dictionary?.length ?? 0);
  const chunk = { encoding, rows: rowCount, bytes, from, dataOffset, hasDictionary: dictionary !== undefined };
  return { pieces: pages, bytes, entry: { struct: createChunk(column, chunk) } };
}

/** Returns the footer entry of a row group. */
export function createGroupEntry(chunks: readonly EncodedChunk[], rowCount: number): ThriftStruct {
  return [
    [1, { list: chunks.map(({ entry }) => entry) }],
    [2, { i64: chunks.reduce((sum, { bytes }) => sum + bytes, 0) }],
    [3, { i64: rowCount }],
  ];
}

interface Footer {
  readonly columns: readonly ColumnShape[];
  readonly rows: number;
  readonly groups: readonly ThriftStruct[] | EncodedStructs;
  /** Names and values that a reader displays. Default: none. */
  readonly metadata?: readonly (readonly [string, string])[];
}

/** Encodes the end of a file, after its row groups. */
export function encodeFooter({ columns, rows, groups, metadata = [] }: Footer): Uint8Array {
  const root: ThriftStruct = [
    [4, { text: 'schema' }],
    [5, { i32: columns.length }],
  ];
  const footer = encodeStruct([
    [1, { i32: 1 }],
    [2, { list: [{ struct: root }, ...columns.map(createSchemaElement)] }],
    [3, { i64: rows }],
    [4, 'bytes' in groups ? { encoded: groups } : { list: groups.map((struct) => ({ struct })) }],
    ...(metadata.length === 0 ? [] : [[5, { list: metadata.map(createMetadataEntry) }] as const]),
    [6, { text: 'divisor' }],
  ]);
  const bytes = new Uint8Array(footer.length + 4 + PARQUET_MAGIC.length);
  bytes.set(footer);
  new DataView(bytes.buffer).setUint32(footer.length, footer.length, true);
  bytes.set(PARQUET_MAGIC, footer.length + 4);
  return bytes;
}

const createMetadataEntry = ([name, value]: readonly [string, string]): ThriftValue => ({
  struct: [
    [1, { text: name }],
    [2, { text: value }],
  ],
});

function getPhysicalType({ kind }: ColumnShape): number {
  if (kind === 'double') return PHYSICAL_TYPES.DOUBLE;
  if (kind === 'boolean') return PHYSICAL_TYPES.BOOLEAN;
  return kind === 'day' || kind === 'coded-day' || kind === 'integer'
    ? PHYSICAL_TYPES.INT32
    : PHYSICAL_TYPES.BYTE_ARRAY;
}

const isRequired = ({ kind, isOptional }: ColumnShape) =>
  (kind === 'coded-text' || kind === 'coded-day') && isOptional !== true;

function createSchemaElement(column: ColumnShape): ThriftValue {
  const physicalType = getPhysicalType(column);
  const base: ThriftStruct = [
    [1, { i32: physicalType }],
    [3, { i32: isRequired(column) ? 0 : 1 }],
    [4, { text: column.name }],
  ];
  if (physicalType === PHYSICAL_TYPES.BYTE_ARRAY) return { struct: [...base, [6, { i32: CONVERTED_TYPES.UTF8 }]] };
  const isDay = physicalType === PHYSICAL_TYPES.INT32 && column.kind !== 'integer';
  return { struct: isDay ? [...base, [6, { i32: CONVERTED_TYPES.DATE }]] : base };
}

interface Chunk {
  readonly encoding: number;
  readonly rows: number;
  readonly bytes: number;
  readonly from: number;
  readonly dataOffset: number;
  readonly hasDictionary: boolean;
}

function createChunk(
  column: ParquetColumn,
  { encoding, rows, bytes, from, dataOffset, hasDictionary }: Chunk,
): ThriftStruct {
  const encodings = [...new Set([ENCODING.PLAIN, ENCODING.RLE, encoding])].map((value) => ({ i32: value }));
  const metadata: ThriftStruct = [
    [1, { i32: getPhysicalType(column) }],
    [2, { list: encodings }],
    [3, { list: [{ text: column.name }] }],
    [4, { i32: UNCOMPRESSED_CODEC }],
    [5, { i64: rows }],
    [6, { i64: bytes }],
    [7, { i64: bytes }],
    [9, { i64: dataOffset }],
    ...(hasDictionary ? [[11, { i64: from }] as const] : []),
  ];
  return [
    [2, { i64: from }],
    [3, { struct: metadata }],
  ];
}
