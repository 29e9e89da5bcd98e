import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { readImport } from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';
import { formatFindingPaths, readFolder, writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-footers-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const FROM_FILE = Mapping.parse({ identifier_from: 'file:{identifier}.csv' });

/** Returns the rows, the closes of security A, and the findings. */
async function read(text: string, mapping = FROM_FILE) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, { 'A.csv': `Date,Close,Volume\n${text}` });
  const { read: source, findings } = await readFolder(folder, {}, () => {}, { mapping, adjustment: 'none' });
  const closes = source && [...source.content.fields.get('CLOSE')!];
  return { rows: source?.rows.market, closes, findings, places: formatFindingPaths(findings) };
}

const BARS = '2024-01-02,10,100\n2024-01-03,11,200\n';

test.each([
  ['a source in a separate row', 'Source: Bloomberg\n', 'The last row holds no day, but "Source: Bloomberg"'],
  ['the number of rows', '2\n', 'The last row holds no day, but "2"'],
  [
    'totals and a source',
    ',,\nTotal,,300\n"Source: a, b",,\n',
    'The last 3 rows hold no day, but "Total", "Source: a, b"',
  ],
])('%s below the bars is ignored and reported', async (_what, footer, expected) => {
  for (const mapping of [FROM_FILE, Mapping.parse({ ...FROM_FILE, thousands: ',' })]) {
    const { rows, closes, findings } = await read(BARS + footer, mapping);
    expect([rows, closes]).toEqual([2, [10, 11]]);
    expect(findings).toMatchObject([{ severity: 'warning', code: 'BAD_DATE', file: 'A.csv' }]);
    expect(findings[0]!.message).toContain(expected);
  }
});

test.each([
  ['words between bars', `2024-01-02,10,100\nnote,,\n2024-01-03,11,200\n`, ['BAD_DATE market/A.csv[row 2].Date']],
  ['a day that does not exist', `${BARS}2024-02-30,12,1\n`, ['BAD_DATE market/A.csv[row 3].Date']],
  ['a day in words', `${BARS}"Jan 5, 2024",12,1\n`, ['BAD_DATE market/A.csv[row 3].Date']],
  ['a bar without its day', `${BARS},12,1\n`, ['BAD_DATE market/A.csv[row 3].Date']],
  ['a row that was cut', `${BARS}2024-01`, ['UNREADABLE_FILE market/A.csv[row 3]']],
  ['a count of other rows', `${BARS}3`, ['UNREADABLE_FILE market/A.csv[row 3]']],
  ['a name that was cut', `${BARS}AAP`, ['UNREADABLE_FILE market/A.csv[row 3]']],
  [
    'more rows than a footer has',
    BARS + 'a note,,\n'.repeat(11),
    Array.from({ length: 11 }, (_, i) => `BAD_DATE market/A.csv[row ${i + 3}].Date`).toSorted(),
  ],
  ['words without a bar above', 'a note,,\n', ['BAD_DATE market/A.csv[row 1].Date']],
])('%s is no footer, but an error', async (_what, text, expected) => {
  for (const mapping of [FROM_FILE, Mapping.parse({ ...FROM_FILE, thousands: ',' })]) {
    const { rows, places: at } = await read(text, mapping);
    expect([rows, at]).toEqual([undefined, expected]);
  }
});

test('a wide table and tables of an import have footers, too', async () => {
  const problems = createProblems();
  const data = [
    ['2024-01-02', 10, 20],
    ['2024-01-03', 11, 21],
    ['Source: us', null, null],
  ];
  const market = { columns: ['date', 'A', 'B'], data };
  const mapping = Mapping.parse({ layout: 'wide', field: 'CLOSE' });
  const wideImport = await readImport({ kind: 'tables', tables: { market } }, problems, {
    mapping,
    adjustment: 'none',
  });
  expect([...wideImport!.content.fields.get('CLOSE')!]).toEqual([10, 20, 11, 21]);
  expect(formatFindingPaths(problems.findings())).toEqual(['BAD_DATE market[row 3].date']);
});
