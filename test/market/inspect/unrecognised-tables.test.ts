import { expect, test } from 'vitest';
import { createZip } from '../../console/create-zip.js';
import { inspect } from '#market/read/inspection.js';

/** Inspects text files, or files that only have the name of one. */
async function inspectFiles(files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>) {
  const members = Object.entries(files).map(([name, content]) => ({
    name,
    bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
  }));
  const archive = Buffer.from(await (await createZip(members)).arrayBuffer());
  return inspect({ kind: 'csv', content: archive.toString('base64') });
}

const listReasons = async (files: Parameters<typeof inspectFiles>[0]) =>
  (await inspectFiles(files)).findings.map(({ file, code, message }) => [file, code, message]);

test('an empty file, a binary file and a table without prices each state their own cause', async () => {
  const picture = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 0x1a, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  const reasons = await listReasons({ 'a.csv': '', 'b.csv': picture, 'c.csv': 'foo,bar\n1,2\n' });
  expect(reasons).toHaveLength(3);
  expect(reasons).toEqual(
    expect.arrayContaining([
      ['a.csv', 'EMPTY_DATASET', 'The file is empty.'],
      ['b.csv', 'UNREADABLE_FILE', 'The file is not text. CSV, text, Parquet and xlsx files are read.'],
      [
        'c.csv',
        'MISSING_COLUMN',
        'The columns are foo and bar. Columns with the date, the identifier and the close are needed.',
      ],
    ]),
  );
});

test('only the missing columns are listed, and the header below a preamble is the one that counts', async () => {
  const [[, , message] = []] = await listReasons({
    'a.csv': 'Report of today,,\nDate,Ticker,Remark\n2024-01-02,A,x\n',
  });
  expect(message).toBe('The columns are Date, Ticker and Remark. A column with the close is needed.');
});

test('text in UTF-16 and a table of prices are not binary', async () => {
  const text = 'identifier,date,CLOSE\nA,2024-01-02,10\nA,2024-01-03,11\n';
  const utf16 = Uint8Array.from([0xff, 0xfe, ...Buffer.from(text, 'utf16le')]);
  expect(await inspectFiles({ 'a.csv': utf16 })).toMatchObject({ rows_read: 2, findings: [] });
});

test('a file that breaks the rules of CSV states the broken rule', async () => {
  expect(await listReasons({ 'a.csv': 'foo,bar\n"1"x,2\n' })).toEqual([
    ['a.csv', 'UNREADABLE_FILE', 'Text follows a closing quote.'],
  ]);
});
