import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readContentHash, formatFindingPaths, writeFiles } from '../store-folder.js';
import { createFolder, changeBytes } from './damage/damage.js';
import { copyBytes, findFooterStart, findCodec, COUNT, LARGER_COUNT, PARQUET } from './damage/parquet.js';
import { CSV, GZIP, JSON_LINES } from './damage/text.js';
import { SQLITE, DUCKDB } from './damage/databases.js';
import { WORKBOOK } from './damage/workbook.js';
import { ARCHIVE } from './damage/archive.js';

const KINDS = {
  Parquet: PARQUET,
  CSV,
  gzip: GZIP,
  'JSON lines': JSON_LINES,
  SQLite: SQLITE,
  DuckDB: DUCKDB,
  workbook: WORKBOOK,
  zip: ARCHIVE,
};

describe.each(Object.entries(KINDS))('%s with', (_format, damages) => {
  test.each(damages)('%s is reported with its location, and no store is created', async (_kind, expected, read) => {
    const { isRead, findings } = await read();
    expect(formatFindingPaths(findings.filter(({ severity }) => severity === 'error'))).toEqual(expected);
    expect(isRead).toBe(false);
    // Messages are readable sentences: no call stack, no class names, no bytes of the file.
    for (const { message } of findings) expect(message).toMatch(/^\P{Cc}{10,400}$/u);
  });
});

test.each([
  ['a column', (bytes: Buffer) => bytes.indexOf(COUNT, findCodec(bytes, 'CLOSE'))],
  ['the file', (bytes: Buffer) => bytes.indexOf(COUNT, findFooterStart(bytes))],
])('an unused count of %s does not change the data', async (_what, offset) => {
  const folder = await createFolder();
  const bytes = await copyBytes();
  await writeFiles(folder, {
    'sound/market.parquet': bytes,
    'other/market.parquet': changeBytes(bytes, offset(bytes), LARGER_COUNT),
  });
  expect(await readContentHash(join(folder, 'other'))).toBe(await readContentHash(join(folder, 'sound')));
});

test('there are more than 58 distinct kinds of damage', () => {
  const kinds = Object.entries(KINDS).flatMap(([format, damages]) => damages.map(([kind]) => `${format} ${kind}`));
  expect(new Set(kinds).size).toBe(kinds.length);
  expect(kinds.length).toBeGreaterThanOrEqual(58);
});
