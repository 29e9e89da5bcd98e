/** Number of rows written at once; their columns fit into a second-level cache. */
export const CHUNK_ROWS = 1024;

/** Maximum number of columns of a table; each column has a slot for its values. */
export const TABLE_COLUMNS_MAX = 16;
const SLOT_BYTES = 8 * CHUNK_ROWS;

/** Maximum number of bytes of all texts of a chunk. */
const TOKENS_BYTES = 1 << 17;
const LENGTH_BITS = 13;
const TOKEN_BYTES_MAX = (1 << LENGTH_BITS) - 1;

/** Maximum length of the text of a double. */
const NUMBER_BYTES_MAX = 26;
const WORD_BYTES = 8;
/** Maximum number of bytes that a copy may write beyond its end. */
const SLACK_BYTES = 8;

/** Size of the memory of a table: kinds and marks, slots, texts. */
export const TABLE_BYTES = 65_536 + TABLE_COLUMNS_MAX * SLOT_BYTES + TOKENS_BYTES + SLACK_BYTES;
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
export interface TableText {
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

/** Window of text that a table is written into. */
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
export type WriteTable = (
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

export function createTableText(window: TextWindow, writeTable: WriteTable): TableText {
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
