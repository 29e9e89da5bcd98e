import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  createImportTemplate,
  type ImportSource,
  readImport,
  type Sheet,
  writeWorkbook,
  writeZip,
} from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';
import { formatFindingPaths } from '../store-folder.js';

async function importSource(source: ImportSource) {
  const problems = createProblems();
  const read = await readImport(source, problems);
  return { read, findings: problems.findings(), places: formatFindingPaths(problems.findings()) };
}

const findWorkbook = (rows: Sheet['rows'], name = 'market') =>
  importSource({ kind: 'xlsx', bytes: writeWorkbook([{ name, rows }]) });
const findCsv = (files: Record<string, string>) =>
  importSource({ kind: 'csv', bytes: writeZip(Object.entries(files).map(([name, text]) => ({ name, text }))) });
const HEADER = ['identifier', 'date', 'CLOSE'];

describe('the template', () => {
  test.each(['xlsx', 'csv'] as const)('imports as it is: %s', async (format) => {
    const { read, findings } = await importSource({ kind: format, bytes: createImportTemplate(format) });
    expect(findings).toEqual([]);
    expect(read?.rows).toEqual({ market: 1, reference: 1, corporate_actions: 1, universes: 1, series: 1 });
    expect(read?.content.identifiers).toEqual(['EXMPL']);
  });

  test('holds the same data in both formats', async () => {
    const [xlsx, zip] = await Promise.all(
      (['xlsx', 'csv'] as const).map((format) => importSource({ kind: format, bytes: createImportTemplate(format) })),
    );
    expect(zip!.read?.content).toEqual(xlsx!.read?.content);
  });
});

describe('a workbook', () => {
  test('has texts, numbers and dates of every kind a spreadsheet writes', async () => {
    const bytes = createSheet(
      '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><r><t>CLO</t></r><r><t>SE</t></r></is></c></row>' +
        '<row r="2"><c r="A2" t="str"><v>A &amp; B</v></c><c r="B2" s="1"><v>45293</v></c><c r="C2"><v>1.5E2</v></c></row>' +
        '<row r="3"><c r="A3" t="s"><v>2</v></c><c r="B3" t="d"><v>2024-01-03</v></c><c r="C3"><v>7</v></c></row>',
      { texts: ['identifier', 'date', 'PLAIN'] },
    );
    const { read, findings } = await importSource({ kind: 'xlsx', bytes });
    expect(findings).toEqual([]);
    expect(read?.content.identifiers).toEqual(['A & B', 'PLAIN']);
    expect([...read!.content.fields.get('CLOSE')!]).toEqual([150, Number.NaN, Number.NaN, 7]);
    expect([...read!.content.dates].map((day) => new Date(day * 86_400_000).toISOString().slice(0, 10))).toEqual([
      '2024-01-02',
      '2024-01-03',
    ]);
  });

  test.each([
    ['a text in a price', ['A', '2024-01-02', 'ten'], 'NOT_A_NUMBER market[row 1].CLOSE'],
    ['a number for a date', ['A', 20240102, 1], 'BAD_DATE market[row 1].date'],
    ['an error of Excel', ['A', '2024-01-02', '#N/A'], 'NOT_A_NUMBER market[row 1].CLOSE'],
    ['no identifier', [null, '2024-01-02', 1], 'BAD_IDENTIFIER market[row 1].identifier'],
    ['a value beyond the header', ['A', '2024-01-02', 1, 5], 'UNREADABLE_FILE market[row 1]'],
  ])('with %s is reported', async (_what, row, place) => {
    expect((await findWorkbook([HEADER, row])).places).toEqual([place]);
  });

  test('keeps text that looks like a formula as text', async () => {
    const bytes = writeWorkbook([
      { name: 'market', rows: [HEADER, ['A', '2024-01-02', 1]] },
      {
        name: 'reference',
        rows: [
          ['identifier', 'NAME'],
          ['A', '=HYPERLINK("x")'],
        ],
      },
    ]);
    const { read } = await importSource({ kind: 'xlsx', bytes });
    expect(read?.content.reference.rows.get('A')?.[0]?.values).toEqual(['=HYPERLINK("x")']);
  });

  test('with a formula is reported', async () => {
    const bytes = createSheet(
      '<row r="1"><c r="A1" t="inlineStr"><is><t>identifier</t></is></c><c r="B1" t="inlineStr"><is><t>date</t></is></c><c r="C1" t="inlineStr"><is><t>CLOSE</t></is></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>A</t></is></c><c r="B2" t="inlineStr"><is><t>2024-01-02</t></is></c><c r="C2"><f>1+1</f><v>2</v></c></row><row r="4"><c r="A4" t="inlineStr"><is><t>A</t></is></c><c r="B4" t="inlineStr"><is><t>soon</t></is></c><c r="C4"><v>2</v></c></row>',
    );
    const places = ['WRONG_TYPE market[row 1].CLOSE', 'BAD_DATE market[row 2].date'];
    expect((await importSource({ kind: 'xlsx', bytes })).places).toEqual(places);
  });

  test.each([
    ['a far column', '<row r="1"><c r="XFD1"><v>1</v></c></row>'],
    ['a far row', '<row r="99999999"><c r="A1"><v>1</v></c></row>'],
    ['a text that is not there', '<row r="1"><c r="A1" t="s"><v>9</v></c></row>'],
    ['a document type declaration', '<!DOCTYPE x [<!ENTITY a "b">]><row r="1"></row>'],
    ['an unknown entity', '<row r="1"><c r="A1" t="str"><v>&bomb;</v></c></row>'],
    ['a tag that does not end', '<row r="1"><c r="A1"'],
  ])('with %s is one finding', async (_what, rows) => {
    const { findings } = await importSource({
      kind: 'xlsx',
      bytes: createSheet(rows, { isOpen: rows.endsWith('"A1"') }),
    });
    expect(findings.map(({ code }) => code)).toEqual(['UNREADABLE_FILE']);
  });

  test('with another sheet, or without a market, is reported', async () => {
    expect((await findWorkbook([HEADER, ['A', '2024-01-02', 1]], 'prices')).places).toEqual([
      'EMPTY_DATASET market',
      'UNKNOWN_FIELD prices',
    ]);
  });

  test.each([
    ['a text file', new TextEncoder().encode('identifier,date,CLOSE\n')],
    ['a zip of something else', writeZip([{ name: 'readme.txt', text: 'x' }])],
    ['half a workbook', createImportTemplate('xlsx').subarray(0, 900)],
    ['nothing', new Uint8Array(0)],
  ])('that is %s is one finding', async (_what, bytes) => {
    expect((await importSource({ kind: 'xlsx', bytes })).places).toEqual(['UNREADABLE_FILE ']);
  });
});

test('a table whose index has another number of rows than its data is refused with both; without labels it is not', async () => {
  const createBars = (index: number[]) => ({ market: { index, columns: HEADER, data: [['A', '2024-01-02', 1]] } });
  const { findings } = await importSource({ kind: 'tables', tables: createBars([0, 1]) });
  expect(formatFindingPaths(findings)).toEqual(['UNREADABLE_FILE market']);
  expect(findings[0]!.message).toMatch(/\b2 rows\b.*\b1 row\b/);
  expect((await importSource({ kind: 'tables', tables: createBars([]) })).findings).toEqual([]);
});

describe('a zip of CSV files', () => {
  test('reports problems at file, row and column', async () => {
    const { places: reported } = await findCsv({
      'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,1\nA,2024-01-03,"1,5"\n',
      'reference.csv': 'identifier,NAME\n,x\n',
    });
    expect(reported).toEqual(['NOT_A_NUMBER market[row 2].CLOSE', 'BAD_IDENTIFIER reference[row 1].identifier']);
  });

  test('with a file of another name is reported, wherever the name leads', async () => {
    const market = 'identifier,date,CLOSE\nA,2024-01-02,1\n';
    expect((await findCsv({ 'market.csv': market, 'prices.csv': 'x\n' })).places).toEqual(['UNKNOWN_FIELD prices.csv']);
    expect((await findCsv({ 'market.csv': market, '../../etc/passwd': 'x' })).places).toEqual(['UNREADABLE_FILE ']);
  });

  test('may contain system files, and names in capitals', async () => {
    const market = 'identifier,date,CLOSE\nA,2024-01-02,1\n';
    const { read, findings } = await findCsv({
      'data/Market.CSV': market,
      '__MACOSX/data/._Market.CSV': 'x',
      'data/.DS_Store': 'x',
    });
    expect(findings).toEqual([]);
    expect(read?.rows.market).toBe(1);
  });

  test('that is a workbook, or a workbook that is a zip of CSV files, is refused with the format that reads it', async () => {
    const asCsv = await importSource({ kind: 'csv', bytes: createImportTemplate('xlsx') });
    expect(asCsv.findings).toMatchObject([
      { code: 'UNREADABLE_FILE', message: 'The file is an Office document; a workbook is read with the format xlsx.' },
    ]);
    const asWorkbook = await importSource({ kind: 'xlsx', bytes: createImportTemplate('csv') });
    expect(asWorkbook.findings).toMatchObject([
      {
        code: 'UNREADABLE_FILE',
        message: 'The file is no Excel workbook (.xlsx); a zip of CSV files is read with the format csv.',
      },
    ]);
  });

  test('that inflates beyond the limit is one finding, and is not read further', async () => {
    const bomb = writeZip([{ name: 'market.csv', text: `identifier,date,CLOSE\n${'0'.repeat(30_000_000)}` }]);
    expect(bomb.length).toBeLessThan(100_000);
    const { findings } = await importSource({ kind: 'csv', bytes: bomb });
    expect(findings).toMatchObject([{ code: 'UNREADABLE_FILE' }]);
    expect(findings[0]?.message).toMatch(
      /^The member market\.csv decompresses from \d{5} to 30000022 bytes; at most 100 times its size is read\.$/,
    );
  });

  test('with a wrong size is one finding', async () => {
    const zip = Buffer.from(writeZip([{ name: 'market.csv', text: 'identifier,date,CLOSE\nA,2024-01-02,1\n' }]));
    const largePart = deflateRawSync(Buffer.alloc(5_000_000, 0x41));
    // An entry has larger content, but the sizes in both headers still state the small content.
    const name = 'market.csv';
    const head = zip.subarray(0, 30 + name.length);
    const directory = Buffer.from(zip.subarray(zip.indexOf(Buffer.from('PK\u0001\u0002', 'latin1'))));
    head.writeUInt32LE(largePart.length, 18);
    directory.writeUInt32LE(largePart.length, 20);
    directory.writeUInt32LE(head.length + largePart.length, directory.length - 6);
    expect(
      (await importSource({ kind: 'csv', bytes: Buffer.concat([head, largePart, directory]) })).findings.map(
        ({ code }) => code,
      ),
    ).toContain('UNREADABLE_FILE');
  });

  test('is one file, too: the market', async () => {
    const bytes = Buffer.from('identifier,date,CLOSE\nA,2024-01-02,5\n');
    expect((await importSource({ kind: 'csv', bytes })).read?.rows.market).toBe(1);
  });

  test('with texts in every row of a column is refused with the mapping that ignores the column', async () => {
    const rows = Array.from({ length: 40 }, (_, i) => `A${i},2024-01-02,5,note`);
    const { findings } = await findCsv({ 'market.csv': `identifier,date,CLOSE,NOTE\n${rows.join('\n')}\n` });
    expect(findings.map(({ code, path, count }) => [code, path, count])).toEqual([
      ['REQUIRED', 'mapping', undefined],
      ['NOT_A_NUMBER', expect.stringMatching(/^market.*NOTE/), 40],
    ]);
    expect(findings[0]!.message).toContain('{} is enough');
  });

  test('with too many members is one finding', async () => {
    const zip = Buffer.from(writeZip([{ name: 'market.csv', text: 'x' }]));
    for (const count of [zip.length - 14, zip.length - 12]) zip.writeUInt16LE(5001, count);
    expect((await importSource({ kind: 'csv', bytes: zip })).findings).toMatchObject([
      { code: 'UNREADABLE_FILE', path: '', message: 'The archive has 5001 members; at most 5000 are read.' },
    ]);
  });
});

/** Returns a workbook with one sheet, which is named market. The sheet contains the given rows. */
function createSheet(
  rows: string,
  { texts = [], isOpen = false }: { texts?: readonly string[]; isOpen?: boolean } = {},
): Uint8Array {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  return writeZip([
    {
      name: 'xl/workbook.xml',
      text: `<workbook xmlns="${main}" xmlns:r="r"><sheets><sheet name="market" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      text: '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    },
    {
      name: 'xl/styles.xml',
      text: `<styleSheet xmlns="${main}"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    },
    { name: 'xl/sharedStrings.xml', text: `<sst>${texts.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>` },
    {
      name: 'xl/worksheets/sheet1.xml',
      text: `<worksheet xmlns="${main}"><sheetData>${rows}${isOpen ? '' : '</sheetData></worksheet>'}`,
    },
  ]);
}
