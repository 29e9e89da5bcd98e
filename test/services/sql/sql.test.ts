import { DuckDBInstance } from '@duckdb/node-api';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { LevelsView } from '#clients/typescript/divisor.js';
import type { ExportView } from '#contract/runs.js';
import type { SqlResult } from '#contract/sql.js';
import { RUN_SQL_VIEWS } from '#domain/outputs/exports.js';
import { answerQuery } from '#market/serve/market-process.js';
import type { Exports } from '#services/runs/exports.js';
import { createSql } from '#services/runs/sql.js';
import { openLiveService, type LiveService } from '../../real/live.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService();
  const market = {
    store_id: 'market',
    seed: 3,
    assets: 12,
    start: '2021-01-04',
    end: '2022-06-30',
    splits_per_year: 0.4,
  };
  await service.job('/data/synthetic', market);
  for (const id of ['EQUAL', 'CAPS']) {
    await service.ok('PUT', `/indices/${id}`, {
      id,
      name: id,
      calendar: 'XNYS',
      base_date: '2021-02-01',
      pipeline: { weighting: { type: id === 'CAPS' ? 'MarketCapWeight' : 'EqualWeight' } },
    });
    await service.job(`/analytics/${id}/backtest`);
  }
});
afterAll(() => service.close());

const ask = (query: string) => service.ok<SqlResult>('POST', '/sql', { query });

describe('views', () => {
  test.each(RUN_SQL_VIEWS)('%s has the rows of the export', async (view) => {
    const { columns, data } = await service.ok<ExportView>('GET', `/analytics/CAPS/exports/${view}`);
    const answer = await ask(`SELECT * FROM ${view} WHERE index_id = 'CAPS'`);
    expect(answer.columns.map(({ name }) => name)).toEqual(['index_id', ...columns]);
    expect(data.length).toBeGreaterThan(0);
    expect(answer.data).toEqual(data.map((row) => ['CAPS', ...row]));
  });

  test('prices and reference data equal those of the store', async () => {
    const { identifiers } = await service.ok<{ identifiers: { identifier: string }[] }>(
      'GET',
      '/data/identifiers?limit=1',
    );
    const { identifier } = identifiers[0]!;
    const { prices } = await service.ok<{ prices: { index: string[]; data: number[][] } }>(
      'GET',
      `/data/prices/${identifier}?columns=CLOSE`,
    );
    const { data } = await ask(`SELECT date, CLOSE FROM prices WHERE identifier = '${identifier}' ORDER BY date`);
    expect(data).toEqual(prices.index.map((date, row) => [date, prices.data[row]![0]]));
    const { entries } = await service.ok<{ entries: { fields: Record<string, unknown> }[] }>(
      'GET',
      `/data/reference?identifiers=${identifier}&fields=SECTOR`,
    );
    const sectors = await ask(`SELECT DISTINCT SECTOR FROM reference WHERE identifier = '${identifier}'`);
    expect(sectors.data).toEqual([[entries[0]!.fields['SECTOR']]]);
    const { actions } = await service.ok<{ actions: { ex_date: string }[] }>(
      'GET',
      `/data/corporate-actions/${identifier}`,
    );
    const countedAnswer = await ask(`SELECT count(*) FROM actions WHERE identifier = '${identifier}'`);
    expect(countedAnswer.data).toEqual([[actions.length]]);
  });

  test('list indices and runs, and join several runs', async () => {
    expect((await ask('SELECT index_id, base_date FROM indices ORDER BY 1')).data).toEqual([
      ['CAPS', '2021-02-01'],
      ['EQUAL', '2021-02-01'],
    ]);
    const { data } = await ask(
      'SELECT r.index_id, max(l.date) = any_value(r.end) FROM runs r JOIN levels l USING (index_id) GROUP BY 1 ORDER BY 1',
    );
    expect(data).toEqual([
      ['CAPS', 1],
      ['EQUAL', 1],
    ]);
    expect((await ask("SELECT * FROM levels WHERE index_id = 'NONE'")).rows).toBe(0);
  });

  test('index_points are the levels of the index, while level is the portfolio after costs from 100', async () => {
    const { levels } = await service.ok<LevelsView>('GET', '/analytics/EQUAL/levels');
    const { data } = await ask("SELECT index_points, level FROM levels WHERE index_id = 'EQUAL' ORDER BY date");
    expect(data.map(([points]) => points)).toEqual(levels.data);
    expect(data[0]![1]).toBe(100);
  });

  test('describe each of their columns', async () => {
    const missing = await ask(
      `SELECT column_name FROM information_schema.columns WHERE table_schema = 'main' AND table_name IN ('levels', 'weights', 'indices', 'runs') AND column_comment IS NULL`,
    );
    expect(missing.data).toEqual([]);
    const description = await ask(
      `SELECT column_comment FROM information_schema.columns WHERE table_name = 'levels' AND column_name = 'level'`,
    );
    expect(description.data).toEqual([['Level of the portfolio after costs, rebased to 100.']]);
  });

  test('weights of every session sum to 1', async () => {
    const { data } = await ask(
      'SELECT index_id, max(abs(total - 1)) < 1e-9 FROM (SELECT index_id, date, sum(weight) AS total FROM weights GROUP BY ALL) GROUP BY 1 ORDER BY 1',
    );
    expect(data).toEqual([
      ['CAPS', 1],
      ['EQUAL', 1],
    ]);
  });
});

test('CSV, Arrow and Parquet have the rows of JSON', async () => {
  const query = "SELECT date, identifier, weight FROM weights WHERE index_id = 'CAPS' ORDER BY ALL";
  const { data } = await ask(query);
  const readBytes = async (format: string) => {
    const response = await fetch(`${service.url}/sql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, format }),
    });
    expect([response.status, response.headers.get('x-rows'), response.headers.get('x-truncated')]).toEqual([
      200,
      String(data.length),
      'false',
    ]);
    return Buffer.from(await response.arrayBuffer());
  };
  const csvLines = (await readBytes('csv')).toString().trimEnd().split('\r\n');
  expect(csvLines.slice(1)).toEqual(data.map((row) => row.join(',')));
  const arrow = tableFromIPC(await readBytes('arrow'));
  expect([...arrow.getChild('weight')!]).toEqual(data.map((row) => row[2]));
  const parquet = await parquetReadObjects({ file: Uint8Array.from(await readBytes('parquet')).buffer });
  expect(
    parquet.map(({ date, identifier, weight }) => [(date as Date).toISOString().slice(0, 10), identifier, weight]),
  ).toEqual(data);
});

test('an error is a finding of the field, and others are answered after it', async () => {
  const { status, body } = await service.ask<{
    error: { code: string; detail: { findings: { path: string; message: string }[] } };
  }>('POST', '/sql', { query: "SELECT * FROM read_text('/etc/passwd')" });
  expect([status, body.error.code, body.error.detail.findings[0]!.path]).toEqual([422, 'VALIDATION_FAILED', 'query']);
  expect(body.error.detail.findings[0]!.message).toMatch(/^Line 1, column 15: The function read_text is not available/);
  expect((await ask('SELECT 1 AS one')).data).toEqual([[1]]);
});

test.each([
  ['time', 'WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r'],
  ['memory', "SELECT list(repeat('x', 100000) || i) FROM range(1000000) t(i)"],
])('an endless query is ended by its limit of %s, and leaves no file', async (_, query) => {
  const before = new Set(readdirSync(tmpdir()));
  const order = { query, format: 'json', runs: [], columns: NO_COLUMNS, encoder: ENCODER, limits: LIMITS } as const;
  const options = {
    onNeeds: async () => ({ runs: [], market: [], lists: [] }),
    secondsMax: 3,
    signal: new AbortController().signal,
  };
  await expect(answerQuery(order, options, async () => undefined)).rejects.toMatchObject({ code: 'QUERY_LIMIT' });
  const leftovers = readdirSync(tmpdir()).filter(
    (name) => !before.has(name) && name.startsWith(`divisor-${process.pid}-`),
  );
  expect(leftovers.flatMap((name) => readdirSync(join(tmpdir(), name)).filter((file) => file === 'result'))).toEqual(
    [],
  );
});

const VIEWS = [...RUN_SQL_VIEWS, 'prices', 'actions', 'reference', 'indices', 'runs'] as const;
const NO_COLUMNS = Object.fromEntries(
  VIEWS.map((view) => [view, { index_id: 'text', a: 'text' } as const]),
) as unknown as Parameters<typeof answerQuery>[0]['columns']; // one column of each view
const ENCODER = new URL('../../../workers/sql/result-writer.js', import.meta.url).href;
const LIMITS = { runs: 1, rows: 1000, bytes: 1e6 };

describe('tables that several queries wait for', () => {
  /** Creates queries on one run, whose table is ready when the test finishes it. */
  async function createWaitingSql() {
    const folder = await createTemporaryFolder();
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const path = join(folder, 'levels.parquet');
    await connection.run(`COPY (SELECT DATE '2024-01-02' AS date, 100.0 AS level) TO '${path}' (FORMAT parquet)`);
    connection.closeSync();
    instance.closeSync();
    const bytes = new Uint8Array(readFileSync(path));
    const asked: string[] = [];
    const opened: { readonly signal: AbortSignal; readonly finish: () => void }[] = [];
    const openTable = (signal: AbortSignal) =>
      new Promise<{ readonly bytes: Uint8Array<ArrayBuffer> }>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        opened.push({ signal, finish: () => resolve({ bytes }) });
      });
    const context = createTestContext({
      documents: { ids: async () => ['A'] },
      jobs: {},
      markets: { current: () => undefined },
    });
    const exports = {
      export: async ({ subject }: { readonly subject: string }) => {
        asked.push(subject);
        return { etag: 'table', open: openTable };
      },
    } as unknown as Exports; // only the members that a query reads
    const sql = createSql(context, exports, { encoder: ENCODER, secondsMax: 30 });
    onTestFinished(() => sql.close());
    const request = { query: "SELECT level FROM levels WHERE index_id = 'A'", format: 'json' } as const;
    const answer = async (client: string, signal: AbortSignal) =>
      new Response((await sql.answer(request, { client, signal })).stream).json();
    return { asked, opened, answer };
  }

  test('are created for the others when the first client disconnects', async () => {
    const { asked, opened, answer } = await createWaitingSql();
    const leaving = new AbortController();
    const first = answer('a', leaving.signal);
    await expect.poll(() => opened.length).toBe(1);
    const second = answer('b', new AbortController().signal);
    await expect.poll(() => asked).toEqual(['A', 'A']);
    await new Promise(setImmediate); // the second query waits for the same table
    leaving.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    expect(opened.map(({ signal }) => signal.aborted)).toEqual([false]);
    opened[0]!.finish();
    expect(await second).toMatchObject({ data: [[100]] });
  });

  test('are not created when nobody waits any more, and are created again for a later query', async () => {
    const { opened, answer } = await createWaitingSql();
    const leaving = new AbortController();
    const first = answer('a', leaving.signal);
    await expect.poll(() => opened.length).toBe(1);
    leaving.abort(new Error('left'));
    await expect(first).rejects.toThrow('left');
    expect(opened[0]!.signal.aborted).toBe(true);
    const later = answer('b', new AbortController().signal);
    await expect.poll(() => opened.length).toBe(2);
    opened[1]!.finish();
    expect(await later).toMatchObject({ data: [[100]] });
  });
});
