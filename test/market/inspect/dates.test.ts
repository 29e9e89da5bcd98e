import { expect, test } from 'vitest';
import { writeZip } from '#market/read/import.js';
import { inspect } from '#market/read/inspection.js';
import { SAMPLE_ROWS } from '#market/read/samples.js';

const inspectTexts = (files: Readonly<Record<string, string>>) =>
  inspect({
    kind: 'csv',
    content: Buffer.from(
      writeZip(
        Object.entries(files)
          .map(([name, text]) => ({ name, text }))
          .reverse(),
      ),
    ).toString('base64'),
  });

/**
 * Returns prices of many securities on 3 April 2024, followed by a security on another day. A sample contains only the
 * first day.
 */
const formatPrices = (first: string, second: string) =>
  ['Day;Ticker;Px Last', ...Array.from({ length: SAMPLE_ROWS }, (_, n) => `${first};N${n};10`), `${second};N0;11`].join(
    '\n',
  );

test('a day beyond the first rows decides between day and month', async () => {
  const result = await inspectTexts({ 'prices.csv': formatPrices('03/04/2024', '15/04/2024') });
  expect(result.mapping.date_format).toBe('D/M/YYYY');
  expect(result.unsure.map(({ field }) => field)).not.toContain('date_format');
  expect([result.findings, result.rows_read]).toEqual([[], SAMPLE_ROWS + 1]);
});

test('a day beyond the first rows decides for the selected format', async () => {
  const result = await inspectTexts({ 'prices.csv': formatPrices('04/03/2024', '04/15/2024') });
  expect(result.mapping.date_format).toBe('M/D/YYYY');
  expect(result.unsure.map(({ field }) => field)).not.toContain('date_format');
});

test('a date that may have two formats in every row is a question', async () => {
  const { unsure } = await inspectTexts({ 'prices.csv': formatPrices('03/04/2024', '05/04/2024') });
  expect(unsure.find(({ field }) => field === 'date_format')).toMatchObject({
    taken: 'M/D/YYYY',
    others: ['D/M/YYYY'],
    required: true,
  });
});

test('notes and lists of securities next to prices are ignored', async () => {
  const result = await inspectTexts({
    'prices.csv': formatPrices('2024-04-03', '2024-04-04'),
    'README.txt': 'vendor notes',
    'companies.csv': 'Ticker;Company\nN0;First\n',
  });
  expect(result.mapping.ignore.toSorted()).toEqual(['README.txt', 'companies.csv']);
  expect([result.findings, result.rows_read, result.files]).toEqual([[], SAMPLE_ROWS + 1, 1]);
  expect(result.unsure.find(({ field }) => field === 'ignore')).toMatchObject({ required: false });
});
