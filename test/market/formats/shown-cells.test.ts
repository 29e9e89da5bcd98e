import { expect, test } from 'vitest';
import { readImport, writeZip } from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';

const NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';

const FORMATS = ['General', '0000', '000000', '000\\-00', '"HK"0000', '0.00', '#,##0'];

/** Returns a workbook whose identifiers are cells of numbers with number formats, or logical cells. */
function writeCells(identifiers: readonly string[], attributes: readonly string[] = []): Uint8Array<ArrayBuffer> {
  const styles = `<styleSheet ${NAMESPACE}><numFmts>${FORMATS.map((code, i) => `<numFmt numFmtId="${200 + i}" formatCode="${code.replaceAll('"', '&quot;')}"/>`).join('')}</numFmts><cellXfs>${FORMATS.map((_, i) => `<xf numFmtId="${200 + i}"/>`).join('')}</cellXfs></styleSheet>`;
  const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
  const header = ['identifier', 'date', 'CLOSE'].map(text).join('');
  const rows = identifiers.map((cell) => `<row>${cell}${text('2024-01-02')}<c s="1"><v>7</v></c></row>`);
  const referenceRows = identifiers.map((cell, i) => `<row>${cell}${attributes[i] ?? ''}</row>`);
  const sheet = (lines: string) => `<worksheet ${NAMESPACE}><sheetData>${lines}</sheetData></worksheet>`;
  return writeZip([
    {
      name: 'xl/workbook.xml',
      text: `<workbook ${NAMESPACE}><sheets><sheet name="market" r:id="r1"/><sheet name="reference" r:id="r2"/></sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      text: '<Relationships><Relationship Id="r1" Target="worksheets/s1.xml"/><Relationship Id="r2" Target="worksheets/s2.xml"/></Relationships>',
    },
    { name: 'xl/styles.xml', text: styles },
    { name: 'xl/worksheets/s1.xml', text: sheet(`<row>${header}</row>${rows.join('')}`) },
    {
      name: 'xl/worksheets/s2.xml',
      text: sheet(`<row>${text('identifier')}${text('TERM')}</row>${referenceRows.join('')}`),
    },
  ]);
}

const formatNumber = (value: number, style: number) => `<c s="${style}"><v>${value}</v></c>`;

test('identifiers have the texts of their cells, and numbers have their values', async () => {
  const cells = [
    formatNumber(1810, 0),
    formatNumber(7, 1),
    formatNumber(858, 2),
    formatNumber(12345, 3),
    formatNumber(700, 4),
    formatNumber(12345, 1),
    '<c t="b"><v>1</v></c>',
  ];
  const problems = createProblems();
  const result = await readImport({ kind: 'xlsx', bytes: writeCells(cells) }, problems);
  expect(problems.findings()).toEqual([]);
  const { identifiers, fields } = result!.content;
  expect(identifiers).toEqual(['000858', '0007', '12345', '123-45', '1810', 'HK0700', 'TRUE'].toSorted());
  expect([...fields.get('CLOSE')!]).toEqual(Array.from({ length: 7 }, () => 7)); // 0007 in every row
});

test('attributes of a reference sheet are codes or logical values as shown', async () => {
  const bytes = writeCells(
    [formatNumber(7, 1), formatNumber(8, 1)],
    ['<c t="b"><v>1</v></c>', '<c t="b"><v>0</v></c>'],
  );
  const logical = await readImport({ kind: 'xlsx', bytes }, createProblems());
  expect([...logical!.content.reference.rows.values()].map(([row]) => row!.values[0])).toEqual([true, false]);
  const coded = writeCells([formatNumber(7, 1), formatNumber(8, 1)], [formatNumber(5, 1), formatNumber(6, 1)]);
  const codes = await readImport({ kind: 'xlsx', bytes: coded }, createProblems());
  expect([...codes!.content.reference.rows.values()].map(([row]) => row!.values[0])).toEqual(['0005', '0006']);
});
