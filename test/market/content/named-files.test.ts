import { expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { warnOfMarket } from '#market/judge/market-warnings.js';
import { createProblems } from '#market/tables/problems.js';
import { type ImportSource, readImport, writeWorkbook, writeZip } from '#market/read/import.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { readSource } from '#market/read/read-source.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();
const BY_FILE = Mapping.parse({ identifier_from: 'file:{identifier}_data.csv' });

async function listFoundFiles(files: Record<string, string>, tables: object, mapping: Mapping | null) {
  const folder = await createFolder();
  await writeFiles(folder, files);
  const problems = createProblems();
  const listedFiles = await listFolderFiles(folder, { tables, mapping }, createLocations([folder]), problems);
  const terms = { mapping, adjustment: 'none' } as const;
  const read = await readSource(listedFiles, problems, () => {}, { terms });
  if (read !== undefined) warnOfMarket(read.content, 'none', problems);
  return problems.findings().map(({ code, path, file }) => [code, file, path]);
}

const HEAD = 'date,identifier,CLOSE\n';

test('a finding of a file names it and its row, whatever the file is called', async () => {
  const badText = `${HEAD}2024-01-02,A,10\n2024-01-03,A,x\n`;
  expect(await listFoundFiles({ 'bars.csv': badText }, { market: 'bars.csv' }, null)).toEqual([
    ['NOT_A_NUMBER', 'bars.csv', 'market[row 2].CLOSE'],
  ]);
  expect(await listFoundFiles({ 'bars.csv': HEAD.replace('CLOSE', 'PRICE') }, { market: 'bars.csv' }, null)).toEqual([
    ['MISSING_COLUMN', 'bars.csv', 'market.CLOSE'],
  ]);
  const years = { 'market/year=2024/a.csv': badText, 'market/year=2023/a.csv': `${HEAD}2023-01-03,A,9\n` };
  expect(await listFoundFiles(years, {}, null)).toEqual([
    ['NOT_A_NUMBER', 'year=2024/a.csv', 'market/year=2024/a.csv[row 2].CLOSE'],
  ]);
});

test('a finding of many rows or of a column and a warning about bars name the file', async () => {
  const formatRows = (closes: readonly unknown[], note = '') =>
    `date,CLOSE,NOTE\n${closes.map((close, t) => `2024-01-${String(t + 2).padStart(2, '0')},${String(close)},${note}\n`).join('')}`;
  const closes = Array.from({ length: 25 }, () => 10);
  expect(
    await listFoundFiles(
      { 'A_data.csv': formatRows(closes), 'B_data.csv': formatRows(closes.map(() => 'x')) },
      {},
      BY_FILE,
    ),
  ).toEqual([['NOT_A_NUMBER', 'B_data.csv', 'market.CLOSE']]);
  expect(
    await listFoundFiles({ 'A_data.csv': formatRows(closes), 'B_data.csv': formatRows(closes, 'text') }, {}, BY_FILE),
  ).toEqual([['COLUMN_IGNORED', 'B_data.csv', 'market.NOTE']]);
  expect(
    await listFoundFiles(
      { 'A_data.csv': formatRows(closes), 'B_data.csv': formatRows(closes.with(9, 30).fill(30, 9)) },
      {},
      BY_FILE,
    ),
  ).toEqual([['PRICE_JUMP', 'B_data.csv', 'market[B 2024-01-11].CLOSE']]);
});

test.each<[string, ImportSource, string]>([
  [
    'a zip',
    { kind: 'csv', bytes: writeZip([{ name: 'x/market.csv', text: `${HEAD}2024-01-02,A,-\n` }]) },
    'x/market.csv',
  ],
  [
    'a workbook',
    {
      kind: 'xlsx',
      bytes: writeWorkbook([
        {
          name: 'Market',
          rows: [
            ['date', 'identifier', 'CLOSE'],
            ['2024-01-02', 'A', 'x'],
          ],
        },
      ]),
    },
    'Market',
  ],
])('a finding of %s names the member or the sheet', async (_, source, file) => {
  const problems = createProblems();
  await readImport(source, problems);
  expect(problems.findings()).toMatchObject([{ code: 'NOT_A_NUMBER', file, path: 'market[row 1].CLOSE' }]);
});
