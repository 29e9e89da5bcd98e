import { createKernelImports } from './kernel-imports.js';
import { compileKernelModule } from './kernel-module.js';
import { createTableText, TABLE_BYTES, type TableText, type WriteTable } from './table-text.js';

/** Maximum length of the text of a double, including a comma. */
const TEXT_BYTES_MAX = 26;

/** Number of bytes of text that are buffered before they are drained. */
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

const WORD_BYTES = 8;

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
  /** Writes bytes of encoded text. */
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
