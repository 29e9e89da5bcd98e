import { expect, test } from 'vitest';
import { protectText, removeProtection } from '#market/formats/csv.js';
import { writeWorkbook } from '#market/read/import.js';
import { openZip } from '#market/formats/workbook.js';

/** Strings that a spreadsheet would read as a formula and might execute. */
const FORMULAS = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\0=1',
  '＋1',
  '－1',
  '＝1',
  '＠1',
  "=cmd|' /C calc'!A0",
  '=HYPERLINK("https://example.com")',
];

test.each(FORMULAS)('%j is written as a text that no spreadsheet computes, and read back unchanged', (text) => {
  expect(protectText(text)).toBe(`'${text}`);
  expect(removeProtection(protectText(text))).toBe(text);
});

test.each(['', 'A', "'A", "it's", '1=1', ' =1'])('%j is written unchanged', (text) => {
  expect(protectText(text)).toBe(text);
  expect(removeProtection(text)).toBe(text);
});

test('a workbook contains the text with its apostrophe, in a text cell', async () => {
  const members = await openZip(
    writeWorkbook([
      {
        name: 'reference',
        rows: [
          ['identifier', 'NAME'],
          ['A', '=1+1'],
        ],
      },
    ]),
  );
  const sheet = members.find(({ name }) => name.endsWith('sheet1.xml'))!;
  const chunks: Uint8Array[] = [];
  for await (const chunk of sheet.open()) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  expect(text).toContain('t="inlineStr"><is><t>\'=1+1</t>');
  expect(text).not.toContain('<f>');
});
