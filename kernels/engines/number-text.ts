import { compileKernelModule } from './kernel-module.js';
import { createKernelImports } from './wasm-instance.js';

/** Number of rows written at once; their columns fit into a second-level cache. */
export const CHUNK_ROWS = 1024;

export const TABLE_COLUMNS_MAX = 16;
const SLOT_BYTES = 8 * CHUNK_ROWS;

const TOKENS_BYTES = 1 << 17;
const LENGTH_BITS = 13;
const TOKEN_BYTES_MAX = (1 << LENGTH_BITS) - 1;

/** Maximum length of the text of a double. */
const NUMBER_BYTES_MAX = 26;
const WORD_BYTES = 8;
/** Maximum number of bytes that a copy may write beyond its end. */
const SLACK_BYTES = 8;

/** Size of the memory of a table: kinds and marks, slots, texts. */
const TABLE_BYTES = 65_536 + TABLE_COLUMNS_MAX * SLOT_BYTES + TOKENS_BYTES + SLACK_BYTES;
const MARKS_OFFSET = 256;
const SLOTS_OFFSET = 65_536;
const TOKENS_OFFSET = SLOTS_OFFSET + TABLE_COLUMNS_MAX * SLOT_BYTES;

const ENCODER = new TextEncoder();

export type ColumnKind = 'number' | 'count' | 'text';
const KINDS: Readonly<Record<ColumnKind, number>> = { number: 0, count: 1, text: 2 };

/**
 * Texts before, between and after the cells of a row, and the text for a missing value. Each value is a position that
 * `token` returned.
 */
export interface RowMarks {
  readonly start: number;
  readonly separator: number;
  readonly end: number;
  readonly none: number;
}

/** Writer of columns as rows of text. The caller fills the slots for up to CHUNK_ROWS rows, then writes them. */
interface TableText {
  /** Returns the slot of a column of numbers; NaN is a missing number. */
  numbers(column: number): Float64Array;
  /** Returns the slot of a column of counts or of text positions. In a column of counts, -2^31 is a missing count. */
  integers(column: number): Int32Array;
  /** Stores a text and returns its position, valid until the texts are dropped; -1 if there is no space left. */
  token(text: string): number;
  /** Number of times that the texts were dropped. Each drop invalidates all earlier positions. */
  readonly drops: number;
  /** Drops all texts to make space for new ones. */
  dropTokens(): void;
  /**
   * Writes rows from the slots. @returns false if a number is infinite: some rows may then be missing, but no row is
   * written in part
   */
  write(kinds: readonly ColumnKind[], marks: RowMarks, count: number): boolean;
}

export interface TextWindow {
  readonly memory: ArrayBufferLike;
  /** Address of the memory of the table. */
  readonly tableAt: number;
  readonly powersAt: number;
  readonly end: number;
  readonly windowBytes: number;
  at(): number;
  moveTo(position: number): void;
  /** Drains the written text, except for an incomplete last word. */
  drainWords(): void;
}

/** `writeTable` of kernels/wasm/table-text.ts. */
type WriteTable = (
  kinds: number,
  columns: number,
  values: number,
  stride: number,
  from: number,
  to: number,
  marks: number,
  tokens: number,
  address: number,
  end: number,
  rowBytes: number,
  powers: number,
) => number;

function createTableText(window: TextWindow, writeTable: WriteTable): TableText {
  const { memory, tableAt, powersAt, end, windowBytes } = window;
  const kindBytes = new Uint8Array(memory, tableAt, TABLE_COLUMNS_MAX);
  const marksAt = tableAt + MARKS_OFFSET;
  const marks = new Int32Array(memory, marksAt, 5);
  const slotsAt = tableAt + SLOTS_OFFSET;
  const slots = Array.from({ length: TABLE_COLUMNS_MAX }, (_, c) => slotsAt + c * SLOT_BYTES);
  const doubles = slots.map((position) => new Float64Array(memory, position, CHUNK_ROWS));
  const integers = slots.map((position) => new Int32Array(memory, position, CHUNK_ROWS));
  const tokens = new Uint8Array(memory, tableAt + TOKENS_OFFSET, TOKENS_BYTES);
  let tokenBytes = 0;
  let longestToken = 0;
  let drops = 0;

  /** Appends a text. @returns its number of bytes; -1 if there is no space */
  function put(text: string): number {
    const { length } = text;
    if (length > TOKEN_BYTES_MAX || tokenBytes + length > TOKENS_BYTES) return -1;
    // Calling an encoder takes longer than writing a short text such as a date.
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return putBytes(ENCODER.encode(text));
      tokens[tokenBytes + i] = code;
    }
    return length;
  }

  function putBytes(bytes: Uint8Array): number {
    if (bytes.length > TOKEN_BYTES_MAX || tokenBytes + bytes.length > TOKENS_BYTES) return -1;
    tokens.set(bytes, tokenBytes);
    return bytes.length;
  }

  return {
    numbers: (column) => doubles[column]!,
    integers: (column) => integers[column]!,
    get drops() {
      return drops;
    },
    token(text) {
      const length = put(text);
      if (length < 0) return -1;
      const token = (tokenBytes << LENGTH_BITS) | length;
      tokenBytes += length;
      longestToken = Math.max(longestToken, length);
      return token;
    },
    dropTokens() {
      tokenBytes = 0;
      longestToken = 0;
      drops += 1;
    },
    write(kinds, { start, separator, end: rowEnd, none }, count) {
      kinds.forEach((kind, c) => (kindBytes[c] = KINDS[kind]));
      marks.set([start, separator, rowEnd, none]);
      // Maximum size of a row: each cell with its separator, both ends of the row, and the excess of a copy.
      const rowBytes = (2 * kinds.length + 2) * (Math.max(longestToken, NUMBER_BYTES_MAX) + SLACK_BYTES);
      if (rowBytes + WORD_BYTES > windowBytes) return false; // A partial word may stay in the window.
      for (let row = 0; row < count;) {
        if (window.at() + rowBytes > end) window.drainWords();
        const writtenRows = writeTable(
          tableAt,
          kinds.length,
          slotsAt,
          SLOT_BYTES,
          row,
          count,
          marksAt,
          tokens.byteOffset,
          window.at(),
          end,
          rowBytes,
          powersAt,
        );
        if (writtenRows < 0) return false;
        window.moveTo(marks[4]!);
        row += writtenRows;
      }
      return true;
    },
  };
}

/** Maximum length of the text of a double, including a comma. */
const TEXT_BYTES_MAX = 26;

const WINDOW_BYTES = 1 << 18;

/** Maximum number of bytes for which a loop is faster than a call of `set`. */
const SHORT_BYTES = 48;

/**
 * Minimum size of text that is drained directly. Copying such a text takes longer than draining the buffered text
 * first.
 */
const LONG_BYTES = 1 << 13;

/** Maximum number of values for which a loop is faster than a call of `set`. */
const SHORT_NUMBERS = 32;

/** Number of values passed to the module in one call. */
const BATCH = 512;

const PAGE_BYTES = 65_536;
/** The first page holds the constants of the module. */
const POWERS_OFFSET = PAGE_BYTES;
const VALUES_OFFSET = 2 * PAGE_BYTES;
const WINDOW_OFFSET = 3 * PAGE_BYTES;
/** The page after the window receives text that is copied beyond the end of the window. */
const TABLE_OFFSET = WINDOW_OFFSET + WINDOW_BYTES + PAGE_BYTES;

/** Function that receives a full window of text. */
export type Drain = (text: Uint8Array) => void;

/**
 * Writer of text and numbers as bytes. It buffers them in a window of its memory, which is drained when full. Numbers
 * have the shortest form that parses to the same double, in ECMAScript notation; -0 is written as 0.
 */
export interface NumberText {
  bytes(text: Uint8Array): void;
  /** Writes an ASCII text. @returns false, without writing, if it contains other characters */
  ascii(text: string): boolean;
  /** Writes a number. @returns false, without writing, if the number is not finite */
  number(value: number): boolean;
  /** Writes numbers `from` to `to` (exclusive), separated by commas. @returns false if one is not finite */
  numbers(values: Float64Array, from: number, to: number): boolean;
  /** Writer for the rows of a table. */
  readonly table: TableText;
  /** Returns the number of bytes written and not yet drained. */
  pending(): number;
  /** Drains all buffered text. */
  flush(): void;
  /** Discards the buffered text and sets the drain for further text. */
  begin(drain: Drain): void;
}

interface Exports {
  writeNumber(value: number, address: number, powers: number): number;
  writeNumbers(values: number, count: number, address: number, powers: number): number;
  readonly writeTable: WriteTable;
}

/**
 * Creates a writer of text and numbers.
 * @cost about 50 ns per number
 */
export function createNumberText(): NumberText {
  const pages = Math.ceil((TABLE_OFFSET + TABLE_BYTES) / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: 32_767, shared: true });
  const { exports } = new WebAssembly.Instance(compileKernelModule(), createKernelImports(memory));
  const { writeNumber, writeNumbers, writeTable } = exports as unknown as Exports; // Built from kernels/wasm/number-text.ts.
  new BigUint64Array(memory.buffer, POWERS_OFFSET).set(computePowersOfTen());
  const memoryBytes = new Uint8Array(memory.buffer);
  const input = new Float64Array(memory.buffer, VALUES_OFFSET, BATCH);
  const end = WINDOW_OFFSET + WINDOW_BYTES;
  let position = WINDOW_OFFSET;
  let drain: Drain = () => {};

  function flush(): void {
    if (position > WINDOW_OFFSET) drain(memoryBytes.subarray(WINDOW_OFFSET, position));
    position = WINDOW_OFFSET;
  }

  /** Drains whole words, so that later writes to shared memory are copied by words instead of bytes. */
  function drainWords(): void {
    const border = position - (position % WORD_BYTES);
    if (border > WINDOW_OFFSET) drain(memoryBytes.subarray(WINDOW_OFFSET, border));
    memoryBytes.copyWithin(WINDOW_OFFSET, border, position);
    position -= border - WINDOW_OFFSET;
  }

  const textWindow = { tableAt: TABLE_OFFSET, powersAt: POWERS_OFFSET, end, windowBytes: WINDOW_BYTES };
  const moveTo = (next: number): void => void (position = next);
  return {
    table: createTableText(
      { memory: memory.buffer, ...textWindow, at: () => position, moveTo, drainWords },
      writeTable,
    ),
    pending: () => position - WINDOW_OFFSET,
    flush,
    begin(next) {
      position = WINDOW_OFFSET;
      drain = next;
    },
    bytes(text) {
      const { length } = text;
      if (length > LONG_BYTES) {
        flush();
        drain(text);
        return;
      }
      if (position + length > end) drainWords();
      if (length > SHORT_BYTES) memoryBytes.set(text, position);
      else for (let i = 0; i < length; i++) memoryBytes[position + i] = text[i]!;
      position += length;
    },
    ascii(text) {
      const { length } = text;
      if (length > WINDOW_BYTES) return false;
      if (position + length > end) drainWords();
      for (let i = 0; i < length; i++) {
        const code = text.charCodeAt(i);
        if (code > 127) return false;
        memoryBytes[position + i] = code;
      }
      position += length;
      return true;
    },
    number(value) {
      if (position + TEXT_BYTES_MAX > end) drainWords();
      const next = writeNumber(value, position, POWERS_OFFSET);
      if (next === 0) return false;
      position = next;
      return true;
    },
    numbers(values, from, to) {
      for (let start = from; start < to; start += BATCH) {
        const batchEnd = Math.min(to, start + BATCH);
        if (position + BATCH * TEXT_BYTES_MAX > end) drainWords();
        // Slices of partial tables would create garbage for each row.
        if (batchEnd - start > SHORT_NUMBERS) input.set(values.subarray(start, batchEnd));
        else for (let i = start; i < batchEnd; i++) input[i - start] = values[i]!;
        if (start > from) memoryBytes[position++] = 44;
        const next = writeNumbers(VALUES_OFFSET, batchEnd - start, position, POWERS_OFFSET);
        if (next === 0) return false;
        position = next;
      }
      return true;
    },
  };
}

const POWER_MIN = -292;
const POWER_MAX = 324;

/**
 * Computes 10^k for k from -292 to 324 as 128 bits, of which the first is set, exact or rounded up; high half
 * first.
 */
function computePowersOfTen(): BigUint64Array {
  const table = new BigUint64Array(2 * (POWER_MAX - POWER_MIN + 1));
  for (let k = POWER_MIN; k <= POWER_MAX; k++) {
    const power = k >= 0 ? computeLeadingBits(10n ** BigInt(k), 1n) : computeLeadingBits(1n, 10n ** BigInt(-k));
    table[2 * (k - POWER_MIN)] = power >> 64n;
    table[2 * (k - POWER_MIN) + 1] = power & 0xffff_ffff_ffff_ffffn;
  }
  return table;
}

/** Returns the 128 leading bits of a quotient, rounded up if further bits are not zero. */
function computeLeadingBits(numerator: bigint, denominator: bigint): bigint {
  const shift = 128n - BigInt(countBits(numerator) - countBits(denominator));
  for (const bits of [shift, shift - 1n]) {
    const [above, below] = bits >= 0n ? [numerator << bits, denominator] : [numerator, denominator << -bits];
    const quotient = above / below;
    if (countBits(quotient) === 128) return quotient * below === above ? quotient : quotient + 1n;
  }
  throw new Error('a quotient of two numbers has 128 leading bits at one of two shifts');
}

function countBits(value: bigint): number {
  const digits = value.toString(16);
  return 4 * digits.length + 28 - Math.clz32(parseInt(digits[0]!, 16));
}
