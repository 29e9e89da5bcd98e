/**
 * Size in bytes of a text in the memory of DuckDB. Four bytes of length are followed by up to twelve bytes of UTF-8,
 * padded with zeros.
 */
export const TEXT_BYTES = 16;
const WORDS_PER_TEXT = TEXT_BYTES / Int32Array.BYTES_PER_ELEMENT;

/** Maximum UTF-8 length of a text that DuckDB stores without a pointer. */
const SHORT_BYTES_MAX = 12;

/**
 * Function that returns the positions of the identifiers in a column of texts. An unknown text has position -1. The
 * result is valid until the next call.
 */
export type PositionsOf = (texts: Int32Array) => Int32Array;

/**
 * Finds identifiers by their bytes in the memory of DuckDB, without a join. Rows usually repeat an order: an identifier
 * follows the same identifier, or the identifier that it followed on the day before. Texts are therefore compared with
 * the expected identifier, and few are looked up.
 * @param positions of each spelling of an identifier
 * @returns a function that creates a lookup for one stream of rows; undefined if a spelling is too long
 * @cost 3 ns a row
 */
export function createNameTable(positions: ReadonlyMap<string, number>): (() => PositionsOf) | undefined {
  const table = new Int32Array(positions.size * WORDS_PER_TEXT);
  const bytes = new Uint8Array(table.buffer);
  const encoder = new TextEncoder();
  const spellings = [...positions.keys()];
  for (const [s, text] of spellings.entries()) {
    const textBytes = encoder.encode(text);
    if (textBytes.length > SHORT_BYTES_MAX) return undefined;
    table[s * WORDS_PER_TEXT] = textBytes.length;
    bytes.set(textBytes, s * TEXT_BYTES + Int32Array.BYTES_PER_ELEMENT);
  }
  const slots = createSlots(table);
  const columns = Int32Array.from(positions.values());
  return () => createReader(table, slots, columns);
}

function createReader(table: Int32Array, slots: Int32Array, columns: Int32Array): PositionsOf {
  /** Most recent successor of each spelling. At first, this is the next spelling of the table. */
  const nextColumns = columns.map((_, s) => (s + 1) % columns.length);
  let result = new Int32Array(0);
  let last = 0;
  return (texts) => {
    const rows = texts.length / WORDS_PER_TEXT;
    if (result.length < rows) result = new Int32Array(rows);
    for (let row = 0, offset = 0; row < rows; row++, offset += WORDS_PER_TEXT) {
      let s = nextColumns[last]!;
      if (!areEqualTexts(table, s * WORDS_PER_TEXT, texts, offset)) {
        s = areEqualTexts(table, last * WORDS_PER_TEXT, texts, offset) ? last : findSlot(table, slots, texts, offset);
        if (s < 0) {
          result[row] = -1;
          continue;
        }
        if (s !== last) nextColumns[last] = s;
      }
      result[row] = columns[s]!;
      last = s;
    }
    return result;
  };
}

function areEqualTexts(a: Int32Array, i: number, b: Int32Array, j: number): boolean {
  return a[i + 1] === b[j + 1] && a[i + 2] === b[j + 2] && a[i + 3] === b[j + 3] && a[i] === b[j];
}

/**
 * Returns a hash table of spellings. The number of slots is a power of two, and at most half of them are used. An empty
 * slot is -1.
 */
function createSlots(table: Int32Array): Int32Array {
  const count = table.length / WORDS_PER_TEXT;
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 1))).fill(-1);
  for (let s = 0; s < count; s++) {
    let slot = hashToSlot(table, s * WORDS_PER_TEXT, slots.length);
    while (slots[slot]! >= 0) slot = (slot + 1) & (slots.length - 1);
    slots[slot] = s;
  }
  return slots;
}

function findSlot(table: Int32Array, slots: Int32Array, texts: Int32Array, offset: number): number {
  for (let slot = hashToSlot(texts, offset, slots.length); ; slot = (slot + 1) & (slots.length - 1)) {
    const s = slots[slot]!;
    if (s < 0 || areEqualTexts(table, s * WORDS_PER_TEXT, texts, offset)) return s;
  }
}

/** Hashes the words of a text by FNV and returns its slot. */
function hashToSlot(texts: Int32Array, offset: number, slots: number): number {
  let hash = texts[offset]!;
  for (let w = 1; w < WORDS_PER_TEXT; w++) {
    hash = Math.imul(hash ^ texts[offset + w]!, 0x01000193);
    hash ^= hash >>> 15;
  }
  return (hash >>> 0) & (slots - 1);
}
