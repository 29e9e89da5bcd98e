import type { DuckDBDataChunk, DuckDBValue } from '@duckdb/node-api';
import type { ColumnType } from '#domain/exports/export-table.js';
import type { ResultColumn } from './sql-order.js';

/** Represents a missing day or count; NaN represents a missing number. */
const DUCKDB_NULL = -0x8000_0000;

type Vector = ReturnType<DuckDBDataChunk['getColumnVector']>;

/**
 * Members of vectors that the package does not publish: values in memory, and the validity bits. Without them, values
 * are read one by one.
 */
interface VectorMemory {
  readonly items?: Float64Array | Int32Array | object;
  /** Texts of 16 bytes each. A text begins with its length, followed by up to 12 bytes of text. */
  readonly dataView?: DataView;
  readonly validity?: { readonly data: BigUint64Array | null; readonly offset: number };
}

/** Function that reads the values of a column, chunk by chunk. */
export type ColumnReader = (vector: Vector, count: number) => ResultColumn;

/** Name of a result column, and its type in exported files. */
export interface TypedColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/** Returns the reader of a column. Infinities become missing values, because JSON cannot represent them. */
export function createReader({ name, type }: TypedColumn): ColumnReader {
  switch (type) {
    case 'date':
    case 'count':
      return (vector, count) => ({ name, type, values: readIntegers(vector, count) });
    case 'number':
      return (vector, count) => ({ name, type, values: readNumbers(vector, count) });
    case 'text': {
      const readTexts = createTextReader();
      return (vector, count) => ({ name, type, values: readTexts(vector, count) });
    }
  }
}

function readIntegers(vector: Vector, count: number): Int32Array {
  const { items } = vector as unknown as VectorMemory;
  const values = new Int32Array(count);
  if (!(items instanceof Int32Array))
    for (let row = 0; row < count; row++) values[row] = toInteger(vector.getItem(row));
  else {
    values.set(items.subarray(0, count));
    forEachNull(vector, count, (row) => (values[row] = DUCKDB_NULL));
  }
  return values;
}

function readNumbers(vector: Vector, count: number): Float64Array {
  const { items } = vector as unknown as VectorMemory;
  const values = new Float64Array(count);
  if (!(items instanceof Float64Array))
    for (let row = 0; row < count; row++) values[row] = toNumber(vector.getItem(row));
  else {
    for (let row = 0; row < count; row++) {
      const value = items[row]!;
      values[row] = Number.isFinite(value) ? value : NaN;
    }
    forEachNull(vector, count, (row) => (values[row] = NaN));
  }
  return values;
}

/** Calls a function for each row without a value. */
function forEachNull(vector: Vector, count: number, onNull: (row: number) => void): void {
  const { validity } = vector as unknown as VectorMemory;
  if (validity?.data === null) return;
  for (let row = 0; row < count; row++) if (vector.getItem(row) === null) onNull(row);
}

function toInteger(value: DuckDBValue): number {
  if (value === null) return DUCKDB_NULL;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : (value as { readonly days: number }).days; // a date
}

function toNumber(value: DuckDBValue): number {
  if (value === null) return NaN;
  const number = typeof value === 'object' ? (value as { toDouble(): number }).toDouble() : Number(value); // a decimal, or a plain number
  return Number.isFinite(number) ? number : NaN;
}

/** Number of cached texts, a power of two. */
const CACHED_TEXTS = 1 << 14;
/**
 * Number of 32-bit words per text in a vector. The second value is the maximum length of a text that the vector itself
 * contains.
 */
const STRING_WORDS = 4;
const INLINE_BYTES_MAX = 12;

/** Creates a reader of texts. Decoding takes most of the time, so that short texts are cached by their bytes. */
function createTextReader() {
  const keys = new Uint32Array(CACHED_TEXTS * STRING_WORDS);
  const texts: (string | undefined)[] = Array.from({ length: CACHED_TEXTS });

  function readTextAt(vector: Vector, words: Uint32Array | undefined, row: number): string | null {
    const position = row * STRING_WORDS;
    if (words === undefined || words[position]! > INLINE_BYTES_MAX) return toText(vector.getItem(row));
    let hash = words[position]!;
    for (let i = 1; i < STRING_WORDS; i++) hash = Math.imul(hash ^ words[position + i]!, 0x9e37_79b1) ^ (hash >>> 15);
    const slot = (hash >>> 7) & (CACHED_TEXTS - 1);
    const key = slot * STRING_WORDS;
    const cachedText = texts[slot];
    if (
      cachedText !== undefined &&
      keys[key] === words[position] &&
      keys[key + 1] === words[position + 1] &&
      keys[key + 2] === words[position + 2] &&
      keys[key + 3] === words[position + 3]
    )
      return cachedText;
    const text = toText(vector.getItem(row));
    if (text === null) return null;
    keys.set(words.subarray(position, position + STRING_WORDS), key);
    texts[slot] = text;
    return text;
  }

  return (vector: Vector, count: number) => {
    const { validity } = vector as unknown as VectorMemory;
    // the bytes of a null are arbitrary
    const textWords = validity?.data === null ? findWords(vector, count) : undefined;
    const positions = new Map<string, number>();
    const codes = new Int32Array(count);
    for (let row = 0; row < count; row++) {
      const text = readTextAt(vector, textWords, row);
      if (text === null) {
        codes[row] = -1;
        continue;
      }
      const code = positions.get(text) ?? positions.size;
      if (code === positions.size) positions.set(text, code);
      codes[row] = code;
    }
    return { codes, texts: [...positions.keys()] };
  };
}

const toText = (value: DuckDBValue): string | null => (value === null ? null : String(value));

/** Returns the memory of a vector of texts. Returns undefined for other types. */
function findWords(vector: Vector, count: number): Uint32Array | undefined {
  const { dataView } = vector as unknown as VectorMemory;
  const isAligned = dataView !== undefined && dataView.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0;
  return isAligned && String(vector.type) === 'VARCHAR'
    ? new Uint32Array(dataView.buffer, dataView.byteOffset, count * STRING_WORDS)
    : undefined;
}
