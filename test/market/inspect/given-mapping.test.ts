import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { writeZip } from '#market/read/import.js';
import { inspect } from '#market/read/inspection.js';

const DAYS = ['2024-01-02', '2024-01-03'];

test('a given mapping is used unchanged: its findings are reported, and nothing is corrected', async () => {
  const zip = writeZip([{ name: 'x.csv', text: 'Date,Ticker,Close\n01/02/2024,A,10\n01/13/2024,A,0\n' }]);
  const content = { kind: 'csv', content: Buffer.from(zip).toString('base64') } as const;
  const mapping = Mapping.parse({
    columns: { date: 'Date', identifier: 'Ticker', CLOSE: 'Close' },
    date_format: 'M/D/YYYY',
  });
  const refusal = await inspect(content, { mapping });
  expect([refusal.rows_read, refusal.findings.map(({ code }) => code)]).toEqual([0, ['NON_POSITIVE_PRICE']]);
  expect(refusal.mapping).toEqual(mapping);
  const { preview } = await inspect(content, { mapping: { ...mapping, zero_prices: 'missing' } });
  expect(preview.data).toEqual([['A', '2024-01-02', 10]]);
});

test.each([
  ['one column per security', { field: 'CLOSE' }, { Date: DAYS, A: [10, 11], B: [20, 21] }],
  [
    'pandas, two column levels',
    {},
    {
      Date: DAYS,
      "('Close', 'A')": [10, 11],
      "('Close', 'B')": [20, 21],
      "('Volume', 'A')": [5, 6],
      "('Volume', 'B')": [7, 8],
    },
  ],
  [
    'pandas, two column levels',
    {},
    {
      "('A', 'Close')": [10, 11],
      "('A', 'Volume')": [5, 6],
      "('B', 'Close')": [20, 21],
      "('B', 'Volume')": [7, 8],
      Date: DAYS,
    },
  ],
])('Parquet as %s writes it is recognised: %j', async (name, answers, columns) => {
  const columnData = Object.entries(columns).map(([column, data]) => ({
    name: column,
    data,
    type: column === 'Date' ? ('STRING' as const) : ('DOUBLE' as const),
  }));
  const content = Buffer.from(parquetWriteBuffer({ columnData })).toString('base64');
  const { recognised_as, confidence, preview, findings } = await inspect({ kind: 'parquet', content }, { answers });
  expect([recognised_as, findings]).toEqual([name, []]);
  expect(confidence).not.toBe('unsure');
  const close = preview.columns.indexOf('CLOSE');
  expect(preview.data.map((row) => [row[0], row[close]])).toEqual([
    ['A', 10],
    ['A', 11],
    ['B', 20],
    ['B', 21],
  ]);
});

test('two header rows of pandas are recognised, whichever level is first', async () => {
  for (const text of [
    ',Close,Close,Volume,Volume\n,A,B,A,B\nDate,,,,\n2024-01-02,10,20,5,7\n2024-01-03,11,21,6,8\n',
    ',A,A,B,B\n,Close,Volume,Close,Volume\nDate,,,,\n2024-01-02,10,5,20,7\n2024-01-03,11,6,21,8\n',
  ]) {
    const zip = Buffer.from(writeZip([{ name: 'prices.csv', text }])).toString('base64');
    const { recognised_as, rows_read, findings } = await inspect({ kind: 'csv', content: zip });
    expect([recognised_as, rows_read, findings]).toEqual(['pandas, two column levels', 4, []]);
  }
});

test('a Parquet file is inspected as it is sent', async () => {
  const bytes = parquetWriteBuffer({
    columnData: [
      { name: 'Ticker', data: ['A', 'A'], type: 'STRING' },
      { name: 'Date', data: ['2024-01-02', '2024-01-03'], type: 'STRING' },
      { name: 'Close', data: [10, 11], type: 'DOUBLE' },
    ],
  });
  const { mapping, rows_read, preview } = await inspect({
    kind: 'parquet',
    content: Buffer.from(bytes).toString('base64'),
  });
  expect([rows_read, mapping.columns]).toEqual([2, { date: 'Date', identifier: 'Ticker', CLOSE: 'Close' }]);
  expect(preview.data.map((row) => row.at(-1))).toEqual([10, 11]);
});

test('a frame with one row per date and security is recognised by the pandas metadata of its index', async () => {
  const listRecognised = async (pandas: object) => {
    const bytes = parquetWriteBuffer({
      columnData: [
        { name: 'Close', data: [10, 11], type: 'DOUBLE' },
        { name: 'Date', data: ['2024-01-02', '2024-01-03'], type: 'STRING' },
        { name: 'Ticker', data: ['A', 'A'], type: 'STRING' },
      ],
      kvMetadata: [{ key: 'pandas', value: JSON.stringify(pandas) }],
    });
    const { recognised_as, confidence, rows_read } = await inspect({
      kind: 'parquet',
      content: Buffer.from(bytes).toString('base64'),
    });
    return [recognised_as, confidence, rows_read];
  };
  const of = 'pandas, index of dates and identifiers';
  expect(await listRecognised({ index_columns: ['Date', 'Ticker'] })).toEqual([of, 'sure', 2]);
  expect(await listRecognised({ index_columns: [{ kind: 'range', start: 0, stop: 2 }] })).toEqual([null, 'likely', 2]);
  expect(await listRecognised({ index_columns: 'Date' })).toEqual([null, 'likely', 2]);
});

test('one CSV file is read as itself, in base64 or as its text, and as an archive of it', async () => {
  const text = 'Date,Ticker,Close\n2024-01-02,A,10\n2024-01-03,A,11\n';
  const zip = Buffer.from(writeZip([{ name: 'x.csv', text }])).toString('base64');
  const equalInspections = await Promise.all([
    inspect({ kind: 'csv', content: text }),
    inspect({ kind: 'csv', content: Buffer.from(text).toString('base64') }),
    inspect({ kind: 'csv', content: zip }),
    inspect({ kind: 'csv.zip', content: zip }),
  ]);
  for (const { rows_read, mapping, preview } of equalInspections) {
    expect([rows_read, mapping.columns]).toEqual([2, { date: 'Date', identifier: 'Ticker', CLOSE: 'Close' }]);
    expect(preview.data).toEqual(equalInspections[0]!.preview.data);
  }
  await expect(inspect({ kind: 'csv.zip', content: text })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
});
