import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { readImport, writeZip } from '#market/read/import.js';
import { readDatabase } from '#market/read/databases.js';
import type { Finding } from '#domain/base/findings.js';
import { createProblems } from '#market/tables/problems.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolder, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

/** Expects the securities A and BRK.B, with one finding that names both spellings of the second one. */
function expectPoint(identifiers: readonly string[] | undefined, findings: readonly Finding[]): void {
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(identifiers).toEqual(['A', 'BRK.B']);
  const reports = findings.filter(({ code }) => code === 'BAD_IDENTIFIER');
  expect(reports.map(({ value }) => value)).toEqual(['BRK/B']);
  expect(reports[0]!.message).toContain('BRK/B is read as BRK.B');
}

const LONG = 'identifier,date,CLOSE\nA,2024-01-02,1\nBRK/B,2024-01-02,2\nBRK/B,2024-01-03,3\n';
const REFERENCE = 'identifier,CURRENCY\nBRK/B,USD\n';
const ACTIONS = 'identifier,type,value,ex_date\nBRK/B,DIVIDEND,0.1,2024-01-03\n';

test.each([
  ['long', null, LONG],
  ['long with a mapping', {}, LONG],
  ['wide', { layout: 'wide', field: 'CLOSE' }, 'date,A,BRK/B\n2024-01-02,1,2\n2024-01-03,,3\n'],
  ['with two headers', { layout: 'wide' }, 'date,A,BRK/B\n,CLOSE,CLOSE\n2024-01-02,1,2\n2024-01-03,,3\n'],
])('a slash is a point in all tables of an import whose market is %s', async (_layout, mapping, market) => {
  const problems = createProblems();
  const bytes = writeZip([
    { name: 'market.csv', text: market },
    { name: 'reference.csv', text: REFERENCE },
    { name: 'corporate_actions.csv', text: ACTIONS },
  ]);
  const terms = { mapping: mapping && Mapping.parse(mapping), adjustment: 'none' as const };
  const result = await readImport({ kind: 'csv.zip', bytes }, problems, terms);
  expectPoint(result?.content.identifiers, problems.findings());
  expect([...result!.content.reference.rows.keys()]).toEqual(['BRK.B']);
  expect(result!.content.actions.map(({ identifier }) => identifier)).toEqual(['BRK.B']);
});

test('a slash is a point in DuckDB, in Parquet and in the names of its folders', async () => {
  const folder = await createFolder();
  const instance = await DuckDBInstance.create(join(folder, 'prices.duckdb'));
  const connection = await instance.connect();
  const rows = `(VALUES ('A', DATE '2024-01-02', 1.5), ('BRK/B', DATE '2024-01-02', 2.5)) t(identifier, date, "CLOSE")`;
  await writeFiles(join(folder, 'parquet'), {});
  await writeFiles(folder, { 'one/note.md': '', 'keys/note.md': '' });
  await connection.run(`CREATE TABLE market AS SELECT identifier, date, "CLOSE"::DOUBLE AS "CLOSE" FROM ${rows}`);
  await connection.run(`COPY market TO '${join(folder, 'one', 'market.parquet')}'`);
  await connection.run(
    `COPY market TO '${join(folder, 'keys', 'market')}' (FORMAT parquet, PARTITION_BY (identifier))`,
  );
  connection.closeSync();
  instance.closeSync();
  for (const name of ['one', 'keys']) {
    const { read, findings } = await readFolder(join(folder, name));
    expectPoint(read?.content.identifiers, findings);
  }
  const problems = createProblems();
  const place = { kind: 'duckdb' as const, path: join(folder, 'prices.duckdb') };
  const database = await readDatabase(place, {}, problems, () => {});
  expectPoint(database?.content.identifiers, problems.findings());
});

test('an encoded slash in the name of a file is a point', async () => {
  const folder = await createFolder();
  const bars = 'date,CLOSE\n2024-01-02,1\n';
  await writeFiles(folder, { 'A.csv': bars, 'BRK%2FB.csv': bars });
  const terms = { mapping: Mapping.parse({ identifier_from: 'file:{identifier}.csv' }), adjustment: 'none' as const };
  const { read, findings } = await readFolder(folder, {}, undefined, terms);
  expect(read?.content.identifiers).toEqual(['A', 'BRK.B']);
  expect(findings.map(({ value }) => value)).toEqual(['BRK%2FB']);
});

test('two spellings of one security on one day are one bar too many', async () => {
  const problems = createProblems();
  const text = 'identifier,date,CLOSE\nBRK.B,2024-01-02,1\nBRK/B,2024-01-02,2\n';
  await readImport({ kind: 'csv', bytes: Buffer.from(text) }, problems);
  expect(problems.findings().map(({ code }) => code)).toContain('DUPLICATE_KEY');
});
