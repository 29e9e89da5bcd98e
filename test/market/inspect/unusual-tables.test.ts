import { describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { writeZip } from '#market/read/import.js';
import { inspect } from '#market/read/inspection.js';
import type { Answers } from '#market/read/questions.js';
import { createDayReader } from '#market/mapping/written-values.js';

const inspectTexts = (files: Readonly<Record<string, string>>, answers: Answers = {}) =>
  inspect(
    {
      kind: 'csv',
      content: Buffer.from(
        writeZip(
          Object.entries(files)
            .map(([name, text]) => ({ name, text }))
            .reverse(),
        ),
      ).toString('base64'),
    },
    { answers },
  );

const listBars = ({ preview }: Awaited<ReturnType<typeof inspectTexts>>) => preview.data;

describe('names of months', () => {
  test.each([
    ['2. Januar 2024', 'D. MMM YYYY', '2024-01-02'],
    ['15. März 2024', 'D. MMM YYYY', '2024-03-15'],
    ['15.Mär.2024', 'D.MMM.YYYY', '2024-03-15'],
    ['3-Mrz-2024', 'D-MMM-YYYY', '2024-03-03'],
    ['31-Mai-24', 'D-MMM-YY', '2024-05-31'],
    ['5-Okt-2023', 'D-MMM-YYYY', '2023-10-05'],
    ['24-Dez-2023', 'D-MMM-YYYY', '2023-12-24'],
    ['2 janv. 2024', 'D MMM YYYY', '2024-01-02'],
    ['1er février 2024', 'D MMM YYYY', '2024-02-01'],
    ['14 août 2023', 'D MMM YYYY', '2023-08-14'],
    ['14 juil. 2023', 'D MMM YYYY', '2023-07-14'],
    ['14 juin 2023', 'D MMM YYYY', '2023-06-14'],
    ['29 déc. 2023', 'D MMM YYYY', '2023-12-29'],
    ['8 septiembre 2023', 'D MMM YYYY', '2023-09-08'],
    ['2 Jan 2024', 'D MMM YYYY', '2024-01-02'],
  ])('%s is a date of %s', (text, format, day) => {
    expect(formatDay(createDayReader(format)(text)!)).toBe(day);
  });

  test('that begin two months or none are refused', () => {
    for (const text of ['1 jui 2024', '1 Foo 2024', '1 Ma 2024'])
      expect(createDayReader('D MMM YYYY')(text)).toBeUndefined();
  });

  test('of a vendor give the date format', async () => {
    const german = await inspectTexts({
      'p.csv': 'Datum;Symbol;Schluss\n2. Januar 2024;A;10,5\n15. März 2024;A;11,5\n',
    });
    expect([german.mapping.date_format, listBars(german)]).toEqual([
      'D. MMM YYYY',
      [
        ['A', '2024-01-02', 10.5],
        ['A', '2024-03-15', 11.5],
      ],
    ]);
    const french = await inspectTexts({ 'p.csv': 'date;symbol;clôture\n2 janv. 2024;A;10,5\n14 août 2024;A;11,5\n' });
    expect(listBars(french).map(([, day]) => day)).toEqual(['2024-01-02', '2024-08-14']);
  });
});

test('serial dates of Excel are a question, and its answer reads them', async () => {
  // 45293 days after 30 December 1899 are 2 January 2024.
  const files = { 'p.csv': 'date,symbol,close\n45293,A,10\n45294.75,A,11\n' };
  const { unsure, mapping } = await inspectTexts(files);
  expect(mapping.date_format).toBe('excel');
  expect(unsure.find(({ field }) => field === 'date_format')).toMatchObject({ required: true, taken: 'excel' });
  const answered = await inspectTexts(files, { date_format: 'excel' });
  expect(answered.unsure.some(({ field }) => field === 'date_format')).toBe(false);
  expect(listBars(answered)).toEqual([
    ['A', '2024-01-02', 10],
    ['A', '2024-01-03', 11],
  ]);
});

describe('a table without a header', () => {
  const rows = 'AAA,2024-01-02,10.5\nAAA,2024-01-03,11\nBBB,2024-01-02,20\n';

  test('is reported with the flag that names its columns', async () => {
    const { findings, unsure, rows_read } = await inspectTexts({ 'p.csv': rows });
    expect(rows_read).toBe(0);
    expect(findings[0]!.message).toContain('no header');
    expect(findings[0]!.message).toContain('--columns date=#2,identifier=#1,CLOSE=#3');
    expect(unsure[0]!.question).toContain('--columns date=#2,identifier=#1,CLOSE=#3');
  });

  test('is read with columns by position, from its first row on', async () => {
    const columns = { identifier: '#1', date: '#2', CLOSE: '#3' };
    const result = await inspectTexts({ 'p.csv': rows }, { columns });
    expect(listBars(result)).toEqual([
      ['AAA', '2024-01-02', 10.5],
      ['AAA', '2024-01-03', 11],
      ['BBB', '2024-01-02', 20],
    ]);
    expect(result.findings).toEqual([]);
  });

  test('of one security per file has identifiers from the names of the files', async () => {
    const files = { 'AAA.csv': '02/01/2024;1;2\n15/01/2024;2;3\n', 'BBB.csv': '02/01/2024;5;2\n' };
    const result = await inspectTexts(files, { columns: { date: '#1', CLOSE: '#2' } });
    expect([result.mapping.date_format, listBars(result)]).toEqual([
      'D/M/YYYY',
      [
        ['AAA', '2024-01-02', 1],
        ['AAA', '2024-01-15', 2],
        ['BBB', '2024-01-02', 5],
      ],
    ]);
  });

  test.each([12, 50])('is counted in all of %d files', async (count) => {
    const names = Array.from({ length: count }, (_, i) => `S${String(i).padStart(2, '0')}.csv`);
    const { files, findings } = await inspectTexts(
      Object.fromEntries(names.map((name) => [name, '2024-01-02,10\n2024-01-03,11\n'])),
    );
    expect(files).toBe(count);
    expect(findings.reduce((sum, { count: times = 1 }) => sum + times, 0)).toBe(count);
  });
});

test('a first column without a name that holds dates is the date', async () => {
  const frame = ',Open,High,Low,Close\n2024-01-02,1,2,1,2\n2024-01-03,2,3,2,3\n';
  const dated = await inspectTexts({ 'AAA.csv': frame, 'BBB.csv': frame });
  expect(dated.mapping.columns['date']).toBe('');
  expect(listBars(dated)[0]).toEqual(['AAA', '2024-01-02', 1, 2, 1, 2]);
  const counted = await inspectTexts({ 'p.csv': ',identifier,date,Close\n0,A,2024-01-02,10\n1,A,2024-01-03,11\n' });
  expect(listBars(counted)).toEqual([
    ['A', '2024-01-02', 10],
    ['A', '2024-01-03', 11],
  ]);
});

test('fixed-point prices of Databento are divided, and decimal ones are not', async () => {
  const write = (closes: readonly string[]) =>
    `ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol\n${closes.map((close, i) => `${1704153600000000000n + BigInt(i) * 86400000000000n},35,2,38,${close},${close},${close},${close},100,AAPL`).join('\n')}\n`;
  const fixed = await inspectTexts({ 'p.csv': write(['185640000000', '184250000000']) });
  expect([fixed.recognised_as, fixed.mapping.price_divisor]).toEqual(['Databento', 1e9]);
  expect(fixed.unsure.find(({ field }) => field === 'price_divisor')).toMatchObject({ required: false });
  const closes = (result: typeof fixed) => {
    const position = result.preview.columns.indexOf('CLOSE');
    return result.preview.data.map((row) => [row[0], row[1], row[position]]);
  };
  const bars = [
    ['AAPL', '2024-01-02', 185.64],
    ['AAPL', '2024-01-03', 184.25],
  ];
  expect(closes(fixed)).toEqual(bars);
  const decimal = await inspectTexts({ 'p.csv': write(['185.64', '184.25']) });
  expect([decimal.mapping.price_divisor, closes(decimal)]).toEqual([1, bars]);
});

test.each([
  ['<!DOCTYPE html>\n<html><body>Not found</body></html>', 'web page'],
  ['<?xml version="1.0"?>\n<html>sign in</html>', 'web page'],
  ['<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', 'XML document'],
  ['version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12345\n', 'pointer of Git LFS'],
  ['{"error": {"code": 429}}', 'JSON document'],
])('a text that takes the place of a table is named: %s', async (text, name) => {
  const { findings } = await inspectTexts({ 'prices.csv': text });
  expect(findings[0]).toMatchObject({ severity: 'error', code: 'UNREADABLE_FILE' });
  expect(findings[0]!.message).toContain(name);
});

test('different rows of two spellings of an identifier name both', async () => {
  const { unsure } = await inspectTexts({
    'bars.csv': 'Date,Ticker,Close\n2024-01-02,BRK/B,10\n2024-01-02,BRK.B,12\n2024-01-03,BRK.B,13\n',
  });
  expect(unsure.find(({ field }) => field === 'on_duplicate')!.question).toContain(
    'BRK.B 1 row (CLOSE 10 and 12 on 2024-01-02; BRK/B is also read as BRK.B)',
  );
});
