import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { inspect } from '#market/read/inspection.js';
import type { Answers } from '#market/read/questions.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-marks-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/**
 * Returns the closes that were read from the cells of a file. Also returns the fields for which the user must give an
 * answer.
 */
const readCloses = (delimiter: ',' | ';', cells: readonly string[], answers: Answers = {}) =>
  readAs(delimiter, { Close: cells }, answers);

/**
 * Returns the numbers that were read from the cells of columns, row by row. Also returns the fields for which the user
 * must give an answer.
 */
async function readAs(delimiter: ',' | ';', columns: Record<string, readonly string[]>, answers: Answers = {}) {
  const folder = join(root, String((folders += 1)));
  const quoteCell = (cell: string) => (delimiter === ',' && cell.includes(',') ? `"${cell}"` : cell);
  const rows = Object.values(columns)[0]!.map((_, i) =>
    [
      new Date(Date.UTC(2024, 0, 1 + i)).toISOString().slice(0, 10),
      'A',
      ...Object.values(columns).map((cells) => quoteCell(cells[i]!)),
    ].join(delimiter),
  );
  const header = ['Date', 'Ticker', ...Object.keys(columns)].join(delimiter);
  await writeFiles(folder, { 'x.csv': `${header}\n${rows.join('\n')}\n` });
  const request = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), createProblems());
  const { preview, unsure } = await inspect({ kind: 'files', files }, { answers });
  return [
    preview.data.flatMap((row) => row.slice(2)),
    unsure.flatMap(({ field, required }) => (required ? [field] : [])),
  ];
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
    expect(await readCloses(',', cells)).toEqual([closes, []]);
  },
);

test.each([
  [['1.233', '1.234'], [1.233, 1.234], { decimal: ',' }, [1233, 1234]],
  [['7,233', '987'], [7.233, 987], { decimal: '.' }, [7233, 987]],
] as const)('between semicolons %j is a question for either meaning', async (cells, assumption, answers, closes) => {
  expect(await readCloses(';', cells)).toEqual([assumption, ['decimal']]);
  expect(await readCloses(';', cells, answers)).toEqual([closes, []]);
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
])('between semicolons another number decides the meaning of the mark of %j', async (cells, closes) => {
  expect(await readCloses(';', cells)).toEqual([closes, []]);
});

test.each([
  [';', ['14,82', '7,5'], ['58,490', '512'], [14.82, 58_490, 7.5, 512], ['thousands']],
  [';', ['14,82', '7,5'], ['1,258,490', '58,490'], [14.82, 1_258_490, 7.5, 58_490], []],
  [';', ['14,82', '7,5'], ['58.490', '512'], [14.82, 58_490, 7.5, 512], []],
  [';', ['14,82', '7,5'], ['58,490', '51,25'], [14.82, 58.49, 7.5, 51.25], []],
  [';', ['14.82', '7.5'], ['58.490', '512'], [14.82, 58_490, 7.5, 512], ['thousands']],
  [';', ['14.82', '7.5'], ['58.490', '51200'], [14.82, 58.49, 7.5, 51_200], []],
  [',', ['14,82', '7,5'], ['58,490', '512'], [14.82, 58_490, 7.5, 512], ['thousands']],
] as const)(
  'between %j next to closes %j the shares %j are whole numbers, unless one has another fraction',
  async (delimiter, closes, volumes, read, asked) => {
    expect(await readAs(delimiter, { Close: closes, Volume: volumes })).toEqual([read, asked]);
  },
);

test('a company called 3M is no number of three million', async () => {
  const columns = { Close: ['90', '91'], Volume: ['1K', '2K'], Company: ['3M', 'Apple'] };
  expect(await readAs(';', columns)).toEqual([[90, 1000, 91, 2000], []]);
  expect(await readAs(';', { Close: ['90'], Company: ['3M'] }, { units: 'read' })).toEqual([[90], []]);
});

test('a count of shares with a comma below the sample is a whole number, and causes a question', async () => {
  const rows = Array.from({ length: 80 }, (_, i) => i);
  const Volume = rows.map((i) => (i === 79 ? '1,250' : '900'));
  const [read, asked] = await readAs(';', { Close: rows.map(() => '14,82'), Volume });
  expect([read!.slice(0, 2), asked]).toEqual([[14.82, 900], ['thousands']]);
  const message = { decimal: ',', thousands: null } as const;
  expect(await readAs(';', { Close: ['14,82'], Volume: ['1,250'] }, message)).toEqual([[14.82, 1.25], []]);
});

test.each([
  [
    ['$14.82', '$1,234.50'],
    ['59.83M', '3.4K'],
    [14.82, 59_830_000, 1234.5, 3400],
  ],
  [
    ['14,82 €', '7,5'],
    ['59,83M', '1,2B'],
    [14.82, 59_830_000, 7.5, 1_200_000_000],
  ],
  [
    ["1'234.50", '1\u2019000'],
    ["58'490", '512'],
    [1234.5, 58_490, 1000, 512],
  ],
  [
    ['1 234,50', '7,5'],
    ['58 490', '512'],
    [1234.5, 58_490, 7.5, 512],
  ],
  [
    ['0.1', '0.2'],
    ['0.57M', '1.005K'],
    [0.1, 570_000, 0.2, 1005],
  ],
])('closes %j and volumes %j are read without a question', async (closes, volumes, read) => {
  expect(await readAs(';', { Close: closes, Volume: volumes })).toEqual([read, []]);
});

test('commas between thousands below the sample cause a question', async () => {
  const listDates = (count: number) =>
    Array.from(
      { length: count },
      (_, i) => `2023-${String(1 + Math.floor(i / 28)).padStart(2, '0')}-${String(1 + (i % 28)).padStart(2, '0')}`,
    );
  const folder = join(root, String((folders += 1)));
  const rows = listDates(80).map((date, i) => `${date},A,${i === 79 ? '"1,002"' : String(920 + i)}`);
  await writeFiles(folder, { 'x.csv': `Date,Ticker,Close\n${rows.join('\n')}\n` });
  const request = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), createProblems());
  const { mapping, rows_read, unsure } = await inspect({ kind: 'files', files });
  expect([mapping.thousands, rows_read]).toEqual([',', 80]);
  expect(unsure).toContainEqual(expect.objectContaining({ field: 'thousands', required: true }));
});
