import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { formatDay } from '#domain/base/time.js';
import { readImport, writeZip } from '#market/read/import.js';
import { inspect } from '#market/read/inspection.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { createProblems } from '#market/tables/problems.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolder, writeFiles, type FolderRead } from '../store-folder.js';

const createFolder = openTemporaryFolders();

async function readFiles(files: Readonly<Record<string, string | Uint8Array>>, mapping: object | null = null) {
  const folder = await createFolder();
  await writeFiles(folder, files);
  const terms = { mapping: mapping && Mapping.parse(mapping), adjustment: 'none' } as const;
  return readFolder(folder, {}, undefined, terms);
}

/** Returns the closes of a market as texts of identifier, date and close. */
const listBars = ({ read, findings }: FolderRead) => {
  if (read === undefined) throw new Error(JSON.stringify(findings));
  const { identifiers, dates, fields } = read.content;
  return [...fields.get('CLOSE')!].flatMap((close, cell) =>
    Number.isNaN(close)
      ? []
      : [
          `${identifiers[cell % identifiers.length]} ${formatDay(dates[Math.floor(cell / identifiers.length)]!)} ${close}`,
        ],
  );
};

const TWO_BARS = ['BF.B 2024-01-02 5', 'BF.B 2024-01-03 6'];

describe('keys of folders of text files supply missing columns', () => {
  test.each([
    ['an identifier with a slash', { 'market/identifier=BF%2FB/p.csv': 'date,CLOSE\n2024-01-02,5\n2024-01-03,6\n' }],
    [
      'a date',
      {
        'market/date=2024-01-02/p.csv': 'identifier,CLOSE\nBF.B,5\n',
        'market/date=2024-01-03/p.csv': 'CLOSE,identifier\n6,BF.B\n',
      },
    ],
    [
      'both, next to another key',
      {
        'market/year=2024/date=2024-01-02/identifier=BF.B/p.csv': 'CLOSE\n5\n',
        'market/year=2024/date=2024-01-03/identifier=BF.B/p.csv': 'CLOSE,VOLUME\n6,7\n',
      },
    ],
    [
      'quoted cells and CRLF',
      { 'market/identifier=BF.B/p.csv': '"date","CLOSE"\r\n"2024-01-02","5"\r\n2024-01-03,6\r\n' },
    ],
    [
      'of JSON lines',
      {
        'market/identifier=BF.B/p.jsonl': '{"date":"2024-01-02","CLOSE":5}\n',
        'market/identifier=BF.B/date=2024-01-03/p.jsonl': '{"CLOSE":6}\n',
      },
    ],
    ['of a gzipped file', { 'market/identifier=BF.B/p.csv.gz': gzipSync('date,CLOSE\n2024-01-02,5\n2024-01-03,6\n') }],
  ])('%s', async (_, files: Readonly<Record<string, string | Uint8Array>>) => {
    expect(listBars(await readFiles(files))).toEqual(TWO_BARS);
  });

  test('with a mapping, also under other names', async () => {
    const files = {
      'symbol=BF.B/year=2024/p.csv': 'day;last\n02.01.2024;5\n',
      'symbol=BF.B/year=2025/p.csv': 'day;last\n03.01.2024;6\n',
    };
    const columns = { identifier: 'symbol', date: 'day', CLOSE: 'last' };
    expect(listBars(await readFiles(files, { columns, date_format: 'DD.MM.YYYY' }))).toEqual(TWO_BARS);
  });

  test('of other tables', async () => {
    const { read } = await readFiles({
      'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,5\n',
      'corporate_actions/ex_date=2024-01-02/year=2024/p.csv': 'identifier,type,value\nA,DIVIDEND,0.5\n',
      'reference/CURRENCY=EUR/p.csv': 'identifier,NAME\nA,Alpha\n',
    });
    expect(read?.content.actions).toMatchObject([{ identifier: 'A', value: 0.5, exDay: 19_724 }]);
    expect(read?.content.reference).toMatchObject({ columns: ['NAME', 'CURRENCY'] });
  });
});

test('a column of a text file replaces the key of its folder, and a difference is a warning', async () => {
  const bars = 'identifier,date,CLOSE\nA,2024-01-02,5\nA,2024-01-03,6\n';
  const { findings } = await readFiles({ 'market/identifier=B/p.csv': bars });
  expect(findings).toMatchObject([
    {
      severity: 'warning',
      code: 'COLUMN_IGNORED',
      path: 'market/identifier=B/p.csv',
      message: 'The folder key identifier=B is not read: the file has the column identifier itself, with A.',
    },
  ]);
  expect((await readFiles({ 'market/date=2024-01-02/p.csv': bars })).findings).toMatchObject([
    { code: 'COLUMN_IGNORED', message: expect.stringContaining('with 2024-01-03.') as string },
  ]);
  expect((await readFiles({ 'market/date=2024/identifier=A/p.csv': bars })).findings).toEqual([]);
});

test('a row that is too short, and a key that is no date, are reported as in other files', async () => {
  const { findings } = await readFiles({ 'market/identifier=A/p.csv': 'date,CLOSE\n2024-01-02\n2024-01-03,6\n' });
  expect(findings).toMatchObject([{ code: 'UNREADABLE_FILE', path: 'market/identifier=A/p.csv[row 1]' }]);
  expect((await readFiles({ 'market/date=2024/p.csv': 'identifier,CLOSE\nA,6\n' })).findings).toMatchObject([
    { code: 'BAD_DATE', path: 'market/date=2024/p.csv[row 1].date' },
  ]);
});

test('an inspection reads the keys of folders of text files', async () => {
  const inspectFiles = async (files: Readonly<Record<string, string>>) => {
    const folder = await createFolder();
    await writeFiles(folder, files);
    const listed = await listFolderFiles(
      folder,
      { tables: {}, mapping: Mapping.parse({}) },
      createLocations([folder]),
      createProblems(),
    );
    return inspect({ kind: 'files', files: listed });
  };
  const formatFile = (close: number) => `date,close\n2024-01-02,${close}\n2024-01-03,${close + 1}\n`;
  const keyed = await inspectFiles({
    'market/identifier=BF%2FB/p.csv': formatFile(5),
    'market/identifier=AA/p.csv': formatFile(9),
  });
  expect(keyed).toMatchObject({ rows_read: 4, unsure: [{ field: 'adjustment' }] });
  expect(keyed.preview.data[0]).toEqual(['AA', '2024-01-02', 9]);
  const named = await inspectFiles({
    'ticker=BF.B/year=2024/p.csv': formatFile(5),
    'ticker=AA/year=2024/p.csv': formatFile(9),
  });
  expect(named).toMatchObject({ rows_read: 4, mapping: { columns: { identifier: 'ticker' } } });
});

describe('an uploaded archive', () => {
  const archive = (files: Readonly<Record<string, string>>) =>
    writeZip(Object.entries(files).map(([name, text]) => ({ name, text })));

  async function importArchive(files: Readonly<Record<string, string>>, mapping: object | null = null) {
    const problems = createProblems();
    const content = await readImport({ kind: 'csv.zip', bytes: archive(files) }, problems, {
      mapping: mapping && Mapping.parse(mapping),
      adjustment: 'none',
    });
    return { read: content, findings: problems.findings() };
  }
  const listArchiveBars = async (...input: Parameters<typeof importArchive>) =>
    listBars((await importArchive(...input)) as FolderRead);
  const bars = 'date,CLOSE\n2024-01-02,5\n2024-01-03,6\n';

  test.each([
    ['of one identifier', { 'market/identifier=BF%2FB/p.csv': bars }],
    [
      'of dates, below the folder that was compressed',
      {
        'desk/market/date=2024-01-02/p.csv': 'identifier,CLOSE\nBF.B,5\n',
        'desk/market/date=2024-01-03/p.csv': 'identifier,CLOSE\nBF.B,6\n',
      },
    ],
    [
      'without keys',
      {
        'market/1.csv': 'identifier,date,CLOSE\nBF.B,2024-01-02,5\n',
        'market/2.csv': 'identifier,date,CLOSE\nBF.B,2024-01-03,6\n',
      },
    ],
    ['of files with the name of the dataset', { 'identifier=BF.B/market.csv': bars }],
  ])('is read like a folder with partitions %s', async (_, files: Readonly<Record<string, string>>) => {
    expect(await listArchiveBars(files)).toEqual(TWO_BARS);
  });

  test('supplies mapped columns, and the columns of other tables', async () => {
    const files = {
      'symbol=BF.B/year=2024/p.csv': 'day;last\n02.01.2024;5\n',
      'symbol=BF.B/year=2025/p.csv': 'day;last\n03.01.2024;6\n',
    };
    const columns = { identifier: 'symbol', date: 'day', CLOSE: 'last' };
    expect(await listArchiveBars(files, { columns, date_format: 'DD.MM.YYYY' })).toEqual(TWO_BARS);
    const { read } = await importArchive({
      'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,5\n',
      'corporate_actions/ex_date=2024-01-02/p.csv': 'identifier,type,value\nA,DIVIDEND,0.5\n',
    });
    expect(read?.content.actions).toMatchObject([{ identifier: 'A', value: 0.5, exDay: 19_724 }]);
  });

  test('reports a column that contradicts the key of its folder', async () => {
    const { read, findings } = await importArchive({
      'market/identifier=AAA/p.csv': 'identifier,date,CLOSE\nBBB,2024-01-02,5\n',
    });
    expect(read?.content.identifiers).toEqual(['BBB']);
    expect(findings).toMatchObject([
      {
        code: 'COLUMN_IGNORED',
        path: 'market/identifier=AAA/p.csv',
        message: 'The folder key identifier=AAA is not read: the file has the column identifier itself, with BBB.',
      },
    ]);
  });

  test('is refused if a dataset is a file and a folder at once', async () => {
    for (const files of [
      { 'market.csv': `identifier,${bars}`, 'market/identifier=A/p.csv': bars },
      { 'market/identifier=A/p.csv': bars, 'market.csv': `identifier,${bars}` },
    ])
      expect((await importArchive(files)).findings.map(({ code }) => code)).toContain('UNKNOWN_FIELD');
  });

  test('is inspected with the keys of its folders', async () => {
    const content = Buffer.from(archive({ 'market/ticker=AA/p.csv': bars, 'market/ticker=BF.B/p.csv': bars })).toString(
      'base64',
    );
    expect(await inspect({ kind: 'csv.zip', content })).toMatchObject({
      rows_read: 4,
      mapping: { columns: { identifier: 'ticker' } },
    });
  });
});
