import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, test } from 'vitest';
import { Mapping } from '#domain/documents/mapping.js';
import { writeZip } from '#market/formats/zip-writer.js';
import { inspect } from '#market/inspect/inspect.js';

test('a mapping that is given is read as it is: what it finds is told, and nothing is mended', async () => {
  const zip = writeZip([{ name: 'x.csv', text: 'Date,Ticker,Close\n01/02/2024,A,10\n01/13/2024,A,0\n' }]);
  const content = { kind: 'csv', content: Buffer.from(zip).toString('base64') } as const;
  const mapping = Mapping.parse({
    columns: { date: 'Date', identifier: 'Ticker', CLOSE: 'Close' },
    date_format: 'M/D/YYYY',
  });
  const refused = await inspect(content, { mapping });
  expect([refused.rows_read, refused.findings.map(({ code }) => code)]).toEqual([0, ['NON_POSITIVE_PRICE']]);
  expect(refused.mapping).toEqual(mapping);
  const { preview } = await inspect(content, { mapping: { ...mapping, zero_prices: 'missing' } });
  expect(preview.data).toEqual([['A', '2024-01-02', 10]]);
});

test('a file of Parquet is looked at as it is sent', async () => {
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
