import { expect, test } from 'vitest';
import { writeWorkbook } from '#market/read/import.js';
import { inspect } from '#market/read/inspection.js';

type Row = readonly (string | number | null)[];

const inspectRows = (rows: readonly Row[]) =>
  inspect({
    kind: 'xlsx',
    content: Buffer.from(writeWorkbook([{ name: 'Prices', rows }])).toString('base64'),
  });

/** Rows of two securities that trade on different days. The second security has one day more. */
const BODY: readonly Row[] = [
  ['2024-01-02', 10, '2024-01-03', 20],
  ['2024-01-03', 11, '2024-01-04', 21],
  [null, null, '2024-01-05', 22],
];
const READ_ROWS = [
  ['AAPL US Equity', '2024-01-02', 10],
  ['AAPL US Equity', '2024-01-03', 11],
  ['MSFT US Equity', '2024-01-03', 20],
  ['MSFT US Equity', '2024-01-04', 21],
  ['MSFT US Equity', '2024-01-05', 22],
];

test.each<[string, readonly Row[]]>([
  [
    'above its days',
    [
      ['AAPL US Equity', null, 'MSFT US Equity', null],
      ['Date', 'PX_LAST', 'Date', 'PX_LAST'],
    ],
  ],
  [
    'above its closes',
    [
      [null, 'AAPL US Equity', null, 'MSFT US Equity'],
      ['Date', 'PX_LAST', 'Date', 'PX_LAST'],
    ],
  ],
  ['in place of the field', [['Date', 'AAPL US Equity', 'Date', 'MSFT US Equity']]],
])('each security of a sheet with separate days is on its own days, with its name %s', async (_where, header) => {
  const { preview, unsure, findings } = await inspectRows([...header, ...BODY]);
  expect(preview.data).toEqual(READ_ROWS);
  expect([unsure.filter(({ required }) => required), findings]).toEqual([[], []]);
});

test('a close without a day is reported, and nothing is read', async () => {
  const header: Row = ['Date', 'AAPL US Equity', 'Date', 'MSFT US Equity'];
  const { rows_read, findings } = await inspectRows([
    header,
    ...BODY,
    ['2024-01-04', 12, null, 23],
    ['2024-01-05', 13, null, null],
  ]);
  expect(rows_read).toBe(0);
  expect(findings.map(({ code, path }) => `${code} ${path}`)).toEqual(['BAD_DATE market/Prices[row 4].Date']);
});
