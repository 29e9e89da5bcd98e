import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { expect, test } from 'vitest';
import { createProblems } from '#market/content/problems.js';
import { importTable } from '#market/import/import-table.js';
import { PLAIN_TERMS } from '#market/mapping/mapped-content.js';

/** The stream of a table of one column as pyarrow writes it, in base64. */
const COMPRESSED = {
  LZ4: [
    '/////3gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAEAAAAUAAAAEAAUAAgABgAHAAwAAAAQ',
    'ABAAAAAAAAEDEAAAABwAAAAEAAAAAAAAAAUAAABDTE9TRQAGAAgABgAGAAAAAAACAAAAAAD/////mAAAABQAAAAAAAAADAAYAAYA',
    'BQAIAAwADAAAAAADBAAcAAAAKAAAAAAAAAAAAAAADAAcABAABAAIAAwADAAAAEgAAAAcAAAAFAAAAAIAAAAAAAAAAAAAAAQABAAE',
    'AAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACYAAAAAAAAAAAAAAAEAAAACAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAEIk0Y',
    'YECCDwAAABEAAQCg+D8AAAAAAAAEQAAAAAAAAP////8AAAAA',
  ].join(''),
  ZSTD: [
    '/////3gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAEAAAAUAAAAEAAUAAgABgAHAAwAAAAQ',
    'ABAAAAAAAAEDEAAAABwAAAAEAAAAAAAAAAUAAABDTE9TRQAGAAgABgAGAAAAAAACAAAAAAD/////oAAAABQAAAAAAAAADAAYAAYA',
    'BQAIAAwADAAAAAADBAAcAAAAKAAAAAAAAAAAAAAADAAeABAABAAIAAwADAAAAFAAAAAkAAAAGAAAAAIAAAAAAAAAAAAAAAAABgAI',
    'AAcABgAAAAAAAAECAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIQAAAAAAAAAAAAAAAQAAAAIAAAAAAAAAAAAAAAAAAAAQAAAA',
    'AAAAACi1L/0gEIEAAAAAAAAAAPg/AAAAAAAABEAAAAAAAAAA/////wAAAAA=',
  ].join(''),
};

async function findingsOf(bytes: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'divisor-arrow-'));
  const path = join(folder, 'market');
  const problems = createProblems();
  try {
    await writeFile(path, bytes);
    const table = { path, dataset: 'market', format: 'arrow' } as const;
    const answer = { folder, held: null, load: false };
    await importTable({ table, answer, terms: PLAIN_TERMS }, problems, () => {});
    return problems.findings();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test.each(['LZ4', 'ZSTD'] as const)('a stream compressed by %s is refused with what is read instead', async (codec) => {
  const findings = await findingsOf(Buffer.from(COMPRESSED[codec], 'base64'));
  expect(findings).toMatchObject([{ code: 'UNREADABLE_FILE', path: 'market' }]);
  expect(findings[0]!.message).toMatch(/compressed.*Uncompressed.*Parquet/);
});

test('a stream that is not compressed is read', async () => {
  const table = tableFromArrays({ identifier: ['A'], date: ['2024-01-02'], CLOSE: Float64Array.of(1.5) });
  expect(await findingsOf(tableToIPC(table, 'stream'))).toEqual([]);
});
