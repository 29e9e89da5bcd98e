import { encodeStruct, type ThriftStruct } from './thrift-compact.js';
import { encodeLevels, encodeHybrid, packBits, encodeWholeLevels } from './levels.js';

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

export const ENCODING = { PLAIN: 0, RLE: 3, RLE_DICTIONARY: 8 } as const;

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

export function encodeColumn(column: ParquetColumn, rowCount: number): EncodedColumn {
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
