import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import type { Finding } from '#domain/base/findings.js';
import { createProblems, FINDINGS_MAX, SIMILAR_PROBLEMS_MAX } from '#market/tables/problems.js';
import { readImport } from '#market/read/import.js';
import { formatFindingPaths, readFolder } from '../store-folder.js';
import { createFolder, createDuckDbFile, checkFolder, checkDatabase } from './problem-folders.js';

describe('a file whose columns are wrong', () => {
  const HEADER = 'identifier,date,CLSOE,VOLUME\n';

  test('has its rows checked nevertheless, and the intended column is suggested', async () => {
    const findings = await checkFolder({ 'market.csv': `${HEADER}A,2024-01-02,1,-5\nA,2024-01-02,1,5\n` });
    expect(formatFindingPaths(findings)).toEqual([
      'MISSING_COLUMN market.CLOSE',
      'OUT_OF_RANGE market[row 1].VOLUME',
      'DUPLICATE_KEY market[row 2]',
    ]);
    expect(findings[0]!.message).toContain('There is CLSOE: did you mean CLOSE?');
  });

  test.each([
    ['market', 'identifer,date,CLOSE', 'identifier', 'AAPL,2024-01-02,1'],
    ['market', 'identifier,dte,CLOSE', 'date', 'AAPL,2024-01-02,1'],
    ['reference', 'identifer,SECTOR', 'identifier', 'AAPL,Tech'],
    ['corporate_actions', 'identifer,type,value,ex_date', 'identifier', 'AAPL,DIVIDEND,1,2024-01-02'],
    ['universes', 'universe,identifer', 'identifier', 'U,AAPL'],
    ['series', 'identifer,date,CLOSE', 'identifier', 'RATE,2024-01-02,1'],
    ['series', 'identifier,dat,CLOSE', 'date', 'RATE,2024-01-02,1'],
    ['series', 'identifier,date,CLSOE', 'CLOSE', 'RATE,2024-01-02,x'],
  ])('of %s has one finding, whatever its rows say: %s', async (dataset, header, column, row) => {
    const otherFiles = dataset === 'market' ? {} : { 'market.csv': 'identifier,date,CLOSE\nAAPL,2024-01-02,1\n' };
    const findings = await checkFolder({ ...otherFiles, [`${dataset}.csv`]: `${header}\n${row}\n${row}\n` });
    expect(formatFindingPaths(findings)).toEqual([`MISSING_COLUMN ${dataset}.${column}`]);
    expect(findings[0]!.message).toContain(`did you mean ${column}?`);
  });

  test('as Parquet, too', async () => {
    const folder = await createFolder();
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run(
      `COPY (SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS "CLSOE", -5 AS "VOLUME" FROM range(2)) TO '${join(folder, 'market.parquet')}' (FORMAT parquet)`,
    );
    connection.closeSync();
    const { findings } = await readFolder(folder);
    expect(formatFindingPaths(findings)).toEqual([
      'MISSING_COLUMN market.CLOSE',
      'OUT_OF_RANGE market[row 1].VOLUME',
      'DUPLICATE_KEY market[row 2]',
      'OUT_OF_RANGE market[row 2].VOLUME',
    ]);
    expect(findings[0]!.message).toContain('did you mean CLOSE?');
  });

  test('is one finding with its count where many files have the same fault', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        `market/V${String(i).padStart(3, '0')}.csv`,
        `${HEADER}V${i},2024-01-02,1,5\n`,
      ]),
    );
    const [finding, ...otherFindings] = (await checkFolder(files)).filter(({ severity }) => severity === 'error');
    expect(otherFindings).toEqual([]);
    expect(finding).toMatchObject({ code: 'MISSING_COLUMN', path: 'market.CLOSE', count: 60 });
    expect(finding!.places).toHaveLength(10);
    expect(finding!.message).toMatch(
      /^60 times, first at market\/V000\.csv\.CLOSE, .* For example: The column CLOSE is missing\. There is CLSOE/,
    );
  });

  test('does not shift the rows after one that is too short', async () => {
    const findings = await checkFolder({
      'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,1\n',
      'reference.csv': 'identifier,LISTED\nA\nB,never\n',
    });
    expect(formatFindingPaths(findings)).toEqual([
      'UNREADABLE_FILE reference[row 1]',
      'BAD_DATE reference[row 2].LISTED',
    ]);
  });
});

test('invalid lines of JSON are each reported, and the others are read', async () => {
  const formatLine = (close: unknown) => JSON.stringify({ identifier: 'A', date: '2024-01-02', CLOSE: close });
  const findings = await checkFolder({
    'market.jsonl': [formatLine(1), '{"identifier":', '', formatLine('x'), '[1]', formatLine(2)].join('\n'),
  });
  expect(formatFindingPaths(findings).toSorted()).toEqual([
    'DUPLICATE_KEY market[row 3]',
    'DUPLICATE_KEY market[row 5]',
    'NOT_A_NUMBER market[row 3].CLOSE',
    'UNREADABLE_FILE market[row 2]',
    'UNREADABLE_FILE market[row 4]',
  ]);
});

describe('findings of one code and column', () => {
  const formatMarket = (rows: number) =>
    `identifier,date,CLOSE\n${Array.from({ length: rows }, (_, i) => `N${i},2024-01-02,${i + 1 === rows ? 'ten' : 0}`).join('\n')}\n`;

  test(`are listed each up to ${SIMILAR_PROBLEMS_MAX} of them`, async () => {
    const findings = await checkFolder({ 'market.csv': formatMarket(SIMILAR_PROBLEMS_MAX + 1) });
    expect(findings.every(({ count }) => count === undefined)).toBe(true);
    expect(findings.map(({ code }) => code).toSorted()).toEqual([
      ...Array.from({ length: SIMILAR_PROBLEMS_MAX }, () => 'NON_POSITIVE_PRICE'),
      'NOT_A_NUMBER',
    ]);
  });

  test('are one with their count, the first rows and an example beyond that', async () => {
    const findings = await checkFolder({ 'market.csv': formatMarket(1001) });
    expect(findings.map(({ code, path, count }) => ({ code, path, count }))).toEqual([
      { code: 'NON_POSITIVE_PRICE', path: 'market.CLOSE', count: 1000 },
      { code: 'NOT_A_NUMBER', path: 'market[row 1001].CLOSE', count: undefined },
    ]);
    expect(findings[0]).toMatchObject({
      places: Array.from({ length: 10 }, (_, i) => `market[row ${i + 1}].CLOSE`),
      message:
        '1000 times, first at market[row 1].CLOSE, market[row 2].CLOSE, market[row 3].CLOSE. For example: CLOSE is 0; a price must be greater than 0. In a mapping, zero_prices: missing reads it as none.',
      value: 0,
    });
  });

  test('are counted whole in Parquet and DuckDB', async () => {
    const rows =
      "SELECT 'N' || i AS identifier, CASE WHEN i < 40 THEN 'soon' ELSE '2024-01-02' END AS date, 0.0 AS \"CLOSE\" FROM range(3000) t(i) UNION ALL SELECT 'N100', '2024-01-02', 0.0 FROM range(50)";
    const folder = await createFolder();
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run(`COPY (${rows}) TO '${join(folder, 'market.parquet')}' (FORMAT parquet)`);
    connection.closeSync();
    const summariseFindings = (findings: readonly Finding[]) =>
      findings.map(({ code, path, count }) => [code, path, count]);
    const expected = [
      ['DUPLICATE_KEY', 'market', 50],
      ['NON_POSITIVE_PRICE', 'market.CLOSE', 3050],
      ['BAD_DATE', 'market.date', 40],
    ];
    expect(summariseFindings((await readFolder(folder)).findings)).toEqual(expected);
    expect(
      summariseFindings(await checkDatabase('duckdb', await createDuckDbFile([`CREATE TABLE market AS ${rows}`]))),
    ).toEqual(expected);
  });

  test(`of many kinds are listed up to ${FINDINGS_MAX}, and the others counted`, async () => {
    const fields = Array.from({ length: 30 }, (_, k) => `F${k}`);
    const rows = Array.from({ length: 10 }, (_, i) => `N${i},2024-01-02,1,${fields.map(() => 'x').join(',')}`);
    const findings = await checkFolder({
      'market.csv': `identifier,date,CLOSE,${fields.join(',')}\n${rows.join('\n')}\n`,
    });
    expect(findings).toHaveLength(FINDINGS_MAX + 1);
    expect(findings.at(-1)).toMatchObject({
      code: 'MORE_FINDINGS',
      path: '',
      count: 100,
      message: '100 more errors are not listed; the first 200 findings are.',
    });
  });
});

describe('a misspelt name', () => {
  const MARKET = 'identifier,date,CLOSE\nA,2024-01-02,1\n';
  const listWarnings = async (files: Readonly<Record<string, string>>) =>
    (await checkFolder({ 'market.csv': MARKET, ...files })).map(({ severity, code, path, message }) => [
      severity,
      code,
      path,
      message.slice(message.lastIndexOf('. ') + 2),
    ]);

  test('of an optional column gives a warning', async () => {
    expect(await listWarnings({ 'market.csv': 'identifier,date,CLOSE,VOLUMNE,PE\nA,2024-01-02,1,1,1\n' })).toEqual([
      ['warning', 'UNKNOWN_FIELD', 'market.VOLUMNE', 'Did you mean VOLUME?'],
    ]);
    expect(await listWarnings({ 'corporate_actions.csv': 'identifier,type,value,ex_date,paydate,note\n' })).toEqual([
      ['warning', 'COLUMN_IGNORED', 'corporate_actions.note', expect.stringContaining('note is not read; those of')],
      ['warning', 'UNKNOWN_FIELD', 'corporate_actions.paydate', 'Did you mean pay_date?'],
    ]);
    expect(await listWarnings({ 'reference.csv': 'identifier,SECTR,SECTOR\nA,1,2\n' })).toEqual([]); // SECTOR exists
  });

  test('of a file gives a warning, and of the market an error', async () => {
    expect(await listWarnings({ 'universe.csv': 'universe,identifier\nU,A\n', 'notes.csv': 'x\n' })).toEqual([
      ['warning', 'UNKNOWN_FIELD', 'universe.csv', 'Did you mean universes?'],
    ]);
    expect((await checkFolder({ 'Markets.csv': MARKET }))[0]!.message).toContain(
      'There is Markets.csv: did you mean market?',
    );
  });

  test('of an action, a status, a table or a sheet is suggested', async () => {
    const actions = await checkFolder({
      'market.csv': MARKET,
      'corporate_actions.csv': 'identifier,type,value,ex_date,status\nA,DIVIDENT,1,2024-01-02,piad\n',
    });
    expect(actions.map(({ message }) => message.slice(message.lastIndexOf('. ') + 2))).toEqual([
      'Did you mean paid?',
      'Did you mean DIVIDEND?',
    ]);
    const path = await createDuckDbFile(['CREATE TABLE marktes (a INT)']);
    expect((await checkDatabase('duckdb', path))[0]!.message).toBe(
      'The database has no table market. Did you mean marktes? It has marktes; tables says which is market, as { "market": "marktes" }; inspect proposes it.',
    );
    const problems = createProblems();
    await readImport({ kind: 'tables', tables: { markets: { columns: [], data: [] } } }, problems);
    expect(
      problems
        .findings()
        .map(({ message }) => message)
        .join(),
    ).toContain('Did you mean market?');
  });
});
