import { encodeStruct, type EncodedStructs, type ThriftStruct, type ThriftValue } from './thrift-compact.js';
import { type ParquetColumn, ENCODING, encodeColumn } from './columns.js';

/** First and last bytes of a Parquet file. */
export const MAGIC = new TextEncoder().encode('PAR1');

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
  const bytes = new Uint8Array(footer.length + 4 + MAGIC.length);
  bytes.set(footer);
  new DataView(bytes.buffer).setUint32(footer.length, footer.length, true);
  bytes.set(MAGIC, footer.length + 4);
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
