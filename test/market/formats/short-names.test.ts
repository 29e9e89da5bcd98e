import { expect, test } from 'vitest';
import { streamChunks, openDuckDb, quoteText, readTexts } from '#market/formats/duckdb.js';
import { createNameTable } from '#market/formats/direct-duckdb.js';

/**
 * Identifiers of different lengths: one byte, twelve bytes, and two characters with two bytes each. Some have
 * surrounding spaces, which the import removes.
 */
const SPELLINGS = ['A', 'ABCDEFGHIJKL', 'ÄÖ', 'B', ' B ', 'BRK.B', 'US0378331005'];
const COLUMNS = [0, 1, 5, 2, 2, 3, 4];
const COLUMN_BY_SPELLING = new Map(SPELLINGS.map((text, s) => [text, COLUMNS[s]!]));

/**
 * Identifiers of rows in three orders: mixed, all rows of one identifier together, and all identifiers of one day
 * together.
 */
const ROWS = [
  ...Array.from({ length: 200 }, (_, i) => SPELLINGS[(i * i * 7 + 3 * i) % SPELLINGS.length]!),
  ...SPELLINGS.flatMap((text) => Array.from({ length: 30 }, () => text)),
  ...Array.from({ length: 30 }, () => SPELLINGS).flat(),
];

test('names are found by the bytes that DuckDB keeps them in, whatever their order; other texts are none', async () => {
  const rows = ROWS.flatMap((text, i) => (i % 50 === 49 ? [text, 'ABCDEFGHIJK', 'ABCDEFGHIJKLM'] : [text]));
  const duck = await openDuckDb({});
  try {
    const findPosition = createNameTable(COLUMN_BY_SPELLING)!();
    const positions: number[] = [];
    const sql = `SELECT unnest([${rows.map(quoteText).join(', ')}])`;
    for await (const chunk of streamChunks(duck.connection, sql, ['text']))
      positions.push(...findPosition(readTexts(chunk, 0)).subarray(0, chunk.rowCount));
    expect(positions).toEqual(rows.map((text) => COLUMN_BY_SPELLING.get(text) ?? -1));
  } finally {
    duck.close();
  }
});

test('names of more than twelve bytes are left to a join', () => {
  expect(createNameTable(new Map([['ABCDEFGHIJKLM', 0]]))).toBeUndefined();
  expect(createNameTable(new Map([['ÄÖÜÄÖÜÄ', 0]]))).toBeUndefined();
});
