import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/documents/mapping.js';
import { createProblems } from '#market/content/problems.js';
import { inspect } from '#market/inspect/inspect.js';
import type { Answers } from '#market/inspect/question.js';
import { folderFiles } from '#market/sources/folder.js';
import { createLocations } from '#market/sources/locations.js';
import { writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-marks-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** The closes that cells of a file are read as, and the fields that are asked with need. */
async function closesOf(delimiter: ',' | ';', cells: readonly string[], answers: Answers = {}) {
  const folder = join(root, String((folders += 1)));
  const written = (cell: string) => (delimiter === ',' && cell.includes(',') ? `"${cell}"` : cell);
  const rows = cells.map((cell, i) =>
    [`2024-01-${String(i + 1).padStart(2, '0')}`, 'A', written(cell)].join(delimiter),
  );
  await writeFiles(folder, { 'x.csv': `${['Date', 'Ticker', 'Close'].join(delimiter)}\n${rows.join('\n')}\n` });
  const asked = { tables: {}, mapping: Mapping.parse({}) };
  const files = await folderFiles(folder, asked, createLocations([folder]), createProblems());
  const { preview, unsure } = await inspect({ kind: 'files', files }, { answers });
  return [preview.data.map((row) => row.at(-1)), unsure.flatMap(({ field, required }) => (required ? [field] : []))];
}

test.each([
  [
    ['987', '7,233'],
    [987, 7233],
  ],
  [
    ['987.5', '7,233'],
    [987.5, 7233],
  ],
  [
    ['1,234.513', '1,234.514'],
    [1234.513, 1234.514],
  ],
  [
    ['1,234,567', '987'],
    [1_234_567, 987],
  ],
  [
    ['7,233', '7,5'],
    [7.233, 7.5],
  ],
  [
    ['1.233', '1.234'],
    [1.233, 1.234],
  ],
])(
  'between commas the comma of %j is one of thousands unless another cell has decimals behind it',
  async (cells, closes) => {
    expect(await closesOf(',', cells)).toEqual([closes, []]);
  },
);

test.each([
  [['1.233', '1.234'], [1.233, 1.234], { decimal: ',' }, [1233, 1234]],
  [['7,233', '987'], [7.233, 987], { decimal: '.' }, [7233, 987]],
] as const)('between semicolons %j is asked, whichever it is taken for', async (cells, taken, answers, closes) => {
  expect(await closesOf(';', cells)).toEqual([taken, ['decimal']]);
  expect(await closesOf(';', cells, answers)).toEqual([closes, []]);
});

test.each([
  [
    ['1.233', '12,5'],
    [1233, 12.5],
  ],
  [
    ['1.233', '1.233.000'],
    [1233, 1_233_000],
  ],
  [
    ['1.233', '12.5'],
    [1.233, 12.5],
  ],
])('between semicolons another number decides what the mark of %j is', async (cells, closes) => {
  expect(await closesOf(';', cells)).toEqual([closes, []]);
});

test('commas between thousands that stand below what is looked at first are asked', async () => {
  const dates = (count: number) =>
    Array.from(
      { length: count },
      (_, i) => `2023-${String(1 + Math.floor(i / 28)).padStart(2, '0')}-${String(1 + (i % 28)).padStart(2, '0')}`,
    );
  const folder = join(root, String((folders += 1)));
  const rows = dates(80).map((date, i) => `${date},A,${i === 79 ? '"1,002"' : String(920 + i)}`);
  await writeFiles(folder, { 'x.csv': `Date,Ticker,Close\n${rows.join('\n')}\n` });
  const asked = { tables: {}, mapping: Mapping.parse({}) };
  const files = await folderFiles(folder, asked, createLocations([folder]), createProblems());
  const { mapping, rows_read, unsure } = await inspect({ kind: 'files', files });
  expect([mapping.thousands, rows_read]).toEqual([',', 80]);
  expect(unsure).toContainEqual(expect.objectContaining({ field: 'thousands', required: true }));
});
