import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { readImport, type Sheet, writeWorkbook } from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';
import { inspect } from '#market/read/inspection.js';
import type { Answers } from '#market/read/questions.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { createZip } from '../../console/create-zip.js';
import { readFolder, writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-workbooks-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function writeFolder(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, files);
  return folder;
}

async function inspectFolder(folder: string, answers: Answers = {}) {
  const request = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), createProblems());
  return inspect({ kind: 'files', files }, { answers });
}

const createRefinitiv = (close: number): Sheet => ({
  name: 'Sheet1',
  rows: [
    ['Exchange Date', 'Close', 'Volume'],
    ['2024-01-03', close + 1, 200],
    ['2024-01-02', close, 100],
  ],
});

const createBloomberg = (security: string, close: number): Sheet => ({
  name: 'Sheet1',
  rows: [
    ['Security', security],
    ['Start Date', '2024-01-02'],
    [],
    ['Date', 'PX_LAST', 'PX_VOLUME'],
    ['2024-01-02', close, 100],
    ['2024-01-03', close + 1, 200],
  ],
});

const EMPTY: Sheet = { name: 'Sheet2', rows: [] };
const NOTES: Sheet = { name: 'Notes', rows: [['Source', 'Desk']] };

describe('a folder of workbooks', () => {
  test('of Refinitiv, a name a file, is read by the names of the files, as their prices in CSV files are', async () => {
    const folder = await writeFolder({
      'AAPL.OQ.xlsx': writeWorkbook([createRefinitiv(10), EMPTY]),
      'IBM.N.xlsx': writeWorkbook([createRefinitiv(20)]),
      'reference.xlsx': writeWorkbook([
        {
          name: 'Sheet1',
          rows: [
            ['identifier', 'SECTOR'],
            ['IBM.N', 'Technology'],
          ],
        },
      ]),
    });
    const result = await inspectFolder(folder);
    expect([result.recognised_as, result.files, result.rows_read]).toEqual(['Refinitiv', 2, 4]);
    expect(result.mapping.identifier_from).toBe('file:{identifier}.xlsx');
    expect(result.unsure.filter(({ required }) => required)).toEqual([]);
    const formatCsv = (close: number) =>
      `Exchange Date,Close,Volume\n2024-01-03,${close + 1},200\n2024-01-02,${close},100\n`;
    const textFolder = await writeFolder({
      'AAPL.OQ.csv': formatCsv(10),
      'IBM.N.csv': formatCsv(20),
      'reference.csv': 'identifier,SECTOR\nIBM.N,Technology\n',
      'about.xlsx': writeWorkbook([NOTES]),
    });
    const [workbooks, tables] = await Promise.all(
      [folder, textFolder].map(async (each) => {
        const { mapping, adjustment } = await inspectFolder(each);
        const { read, findings } = await readFolder(each, {}, () => {}, { mapping, adjustment });
        expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
        return read!;
      }),
    );
    expect(workbooks!.content).toEqual(tables!.content);
    expect([...workbooks!.content.fields.get('CLOSE')!]).toEqual([10, 20, 11, 21]);
  });

  test('of Bloomberg is named by the security above the prices of each', async () => {
    const folder = await writeFolder({
      'grid1.xlsx': writeWorkbook([createBloomberg('USB US Equity', 10)]),
      'grid2.xlsx': writeWorkbook([createBloomberg('LH US Equity', 20)]),
    });
    const { mapping, recognised_as, rows_read, preview } = await inspectFolder(folder);
    expect([mapping.identifier_from, recognised_as, rows_read]).toEqual(['heading:Security', 'Bloomberg', 4]);
    expect(preview.data.map(([name, day, close]) => [name, day, close])).toEqual([
      ['LH US Equity', '2024-01-02', 20],
      ['LH US Equity', '2024-01-03', 21],
      ['USB US Equity', '2024-01-02', 10],
      ['USB US Equity', '2024-01-03', 11],
    ]);
  });

  test('with two sheets of values in one is refused by both names, and read without the one that is left out', async () => {
    const folder = await writeFolder({
      'AAPL.OQ.xlsx': writeWorkbook([createRefinitiv(10), NOTES]),
      'IBM.N.xlsx': writeWorkbook([createRefinitiv(20)]),
    });
    const refusal = await inspectFolder(folder);
    expect([refusal.rows_read, refusal.confidence]).toEqual([0, 'unsure']);
    expect(refusal.findings).toContainEqual(
      expect.objectContaining({
        code: 'UNREADABLE_FILE',
        file: 'AAPL.OQ.xlsx',
        message: expect.stringContaining('"Sheet1" and "Notes"'),
      }),
    );
    const { rows_read, findings } = await inspectFolder(folder, { ignore: ['Notes'] });
    expect([rows_read, findings.filter(({ severity }) => severity === 'error')]).toEqual([4, []]);
  });

  test('with a file that is no workbook is refused by its name', async () => {
    const folder = await writeFolder({
      'AAPL.OQ.xlsx': writeWorkbook([createRefinitiv(10)]),
      'IBM.N.xlsx': 'Exchange Date,Close\n2024-01-02,1\n',
    });
    const { rows_read, findings } = await inspectFolder(folder);
    expect(rows_read).toBe(0);
    expect(findings).toContainEqual(expect.objectContaining({ code: 'UNREADABLE_FILE', file: 'IBM.N.xlsx' }));
  });
});

describe('an archive of workbooks', () => {
  const sectors: Sheet = {
    name: 'Sheet1',
    rows: [
      ['identifier', 'SECTOR'],
      ['IBM.N', 'Technology'],
    ],
  };
  const packArchive = async (files: Readonly<Record<string, Uint8Array | string>>) => {
    const members = Object.entries(files).map(([name, bytes]) => ({ name, bytes: new Uint8Array(Buffer.from(bytes)) }));
    return Buffer.from(await (await createZip(members)).arrayBuffer());
  };
  const inspectArchive = (archive: Buffer, answers: Answers = {}) =>
    inspect({ kind: 'csv', content: archive.toString('base64') }, { answers });

  test('is read as a folder of them is, one file per security, with the other tables', async () => {
    const files = {
      ...Object.fromEntries(
        Array.from({ length: 70 }, (_, i) => [`N${i}.OQ.xlsx`, writeWorkbook([createRefinitiv(10 + i)])]),
      ),
      'IBM.N.xlsx': writeWorkbook([createRefinitiv(20)]),
      'reference.xlsx': writeWorkbook([sectors]),
    };
    const archive = await packArchive(files);
    const { mapping, adjustment, ...inspection } = await inspectArchive(archive);
    expect([inspection.recognised_as, inspection.files, inspection.rows_read]).toEqual(['Refinitiv', 71, 142]);
    const problems = createProblems();
    const read = await readImport({ kind: 'csv', bytes: archive }, problems, { mapping, adjustment });
    const folder = await readFolder(await writeFolder(files), {}, () => {}, { mapping, adjustment });
    expect(problems.findings()).toEqual([]);
    expect(read!.content).toEqual(folder.read!.content);
  });

  test('without a mapping has the tables that its workbooks are called like', async () => {
    const prices: Sheet = {
      name: 'Prices',
      rows: [
        ['identifier', 'date', 'CLOSE'],
        ['IBM.N', '2024-01-02', 5],
      ],
    };
    const bytes = await packArchive({
      'market.xlsx': writeWorkbook([prices]),
      'reference.xlsx': writeWorkbook([sectors]),
    });
    const read = await readImport({ kind: 'csv', bytes }, createProblems());
    expect(read?.rows).toMatchObject({ market: 1, reference: 1 });
  });

  test('with two sheets of values in one, or with one that is damaged, is refused by its name', async () => {
    const archive = await packArchive({
      'AAPL.OQ.xlsx': writeWorkbook([createRefinitiv(10), NOTES]),
      'IBM.N.xlsx': writeWorkbook([createRefinitiv(20)]),
      'T.N.xlsx': 'no workbook',
    });
    const { findings, rows_read } = await inspectArchive(archive);
    expect(rows_read).toBe(0);
    const refusals = findings.filter(({ code }) => code === 'UNREADABLE_FILE');
    expect(refusals.map(({ file }) => file)).toEqual(['AAPL.OQ.xlsx', 'T.N.xlsx']);
    expect(refusals[0]!.message).toContain('"Sheet1" and "Notes"');
  });

  test('of small workbooks that unpack to more than one upload may hold is refused before they are unpacked', async () => {
    const bomb = Buffer.from(
      await (
        await createZip([
          { name: '[Content_Types].xml', bytes: new Uint8Array(Buffer.from('<Types/>')) },
          { name: 'xl/a.bin', bytes: new Uint8Array(randomBytes(1_100_000)) },
        ])
      ).arrayBuffer(),
    );
    // The central directory states how a member is compressed, and how large it is uncompressed.
    const entry = bomb.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
    bomb.writeUInt16LE(8, entry + 10);
    bomb.writeUInt32LE(105_000_000, entry + 24);
    const problems = createProblems();
    const bytes = await packArchive({ 'A.xlsx': new Uint8Array(bomb), 'B.xlsx': new Uint8Array(bomb) });
    await readImport({ kind: 'csv', bytes }, problems, { mapping: Mapping.parse({}), adjustment: 'none' });
    expect(problems.findings().at(-1)!.message).toMatch(
      /hold 2\d{8} bytes after decompression; at most 209715200 are read/,
    );
  });
});

describe('a workbook without a header', () => {
  const sheet: Sheet = {
    name: 'Sheet1',
    rows: [
      ['2024-01-02', 'A', 10],
      ['2024-01-02', 'B', 20],
      ['2024-01-03', 'A', 11],
    ],
  };
  const columns = { date: '#1', identifier: '#2', CLOSE: '#3' };
  const read = { identifiers: ['A', 'B'], dates: Int32Array.of(19_724, 19_725) };

  test('is read by positions in an upload, an archive and a folder, from its first row on', async () => {
    const bytes = await writeWorkbook([sheet]);
    const zip = Buffer.from(await (await createZip([{ name: 'bars.xlsx', bytes }])).arrayBuffer());
    const mapping = Mapping.parse({ columns });
    const terms = { mapping, adjustment: 'none' } as const;
    for (const source of [
      { kind: 'xlsx', bytes },
      { kind: 'csv.zip', bytes: zip },
    ] as const) {
      const problems = createProblems();
      const content = await readImport(source, problems, terms);
      expect(problems.findings()).toEqual([]);
      expect(content).toMatchObject({ rows: { market: 3 }, content: read });
    }
    const folder = await readFolder(await writeFolder({ 'bars.xlsx': bytes }), {}, undefined, terms);
    expect(folder.read).toMatchObject({ rows: { market: 3 }, content: read });
    const answered = await inspectFolder(await writeFolder({ 'bars.xlsx': bytes }), { columns });
    expect(answered).toMatchObject({ rows_read: 3, findings: [] });
  });

  test('is answered with the flag that names its columns', async () => {
    const { findings } = await inspectFolder(await writeFolder({ 'bars.xlsx': await writeWorkbook([sheet]) }));
    expect(findings).toMatchObject([
      {
        code: 'MISSING_COLUMN',
        message:
          'The table has no header: its first row is data. Name its columns by position, for example --columns date=#1,identifier=#2,CLOSE=#3.',
      },
    ]);
  });
});
