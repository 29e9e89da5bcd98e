import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { median } from '#domain/numbers/order-statistics.js';
import { finished, processorTime, settled, startService } from './service.js';

/**
 * Joins of weights with prices of 500 securities over 20 years (2.5 million rows each) by `POST /sql`: an aggregate, and
 * a million rows in each format; next to DuckDB itself, which runs the same statement on Parquet files of the same
 * rows in the process of the bench and writes no result. The first query after a run writes the tables that later ones read.
 * Limit: 1 s by the clock in the median of later queries; on a busy machine the ratio to DuckDB counts.
 */
const LIMIT_MS = 1000;
const ROUNDS = 7;
const ROWS = 1_000_000;
const JOIN = "FROM weights w JOIN prices p USING (date, identifier) WHERE w.index_id = 'BIG'";
const TOTALS = `SELECT w.date, sum(w.weight * p.CLOSE) AS price ${JOIN} GROUP BY w.date ORDER BY w.date`;
const TABLE = `SELECT w.date, w.identifier, w.weight, p.CLOSE ${JOIN} LIMIT ${ROWS}`;
const QUERIES = [
  ['totals of each session', TOTALS, 'json'],
  ['a million rows as Parquet', TABLE, 'parquet'],
  ['a million rows as Arrow', TABLE, 'arrow'],
  ['a million rows as CSV', TABLE, 'csv'],
  ['a million rows as JSON', TABLE, 'json'],
] as const;

const service = await startService();
const folder = await mkdtemp(join(tmpdir(), 'bench-sql-'));
try {
  await post('/data/synthetic', { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' });
  await finished(service, 'generate:market');
  const pipeline = { weighting: { type: 'MarketCapWeight' } };
  await post('/indices', { id: 'BIG', name: 'BIG', calendar: 'XNYS', base_date: '2000-01-03', pipeline });
  await post('/analytics/BIG/backtest', {});
  await finished(service, 'backtest:BIG');
  await settled(service);
  const first = await timeOf(TOTALS, 'json');
  console.log(
    `first query after the run: ${first.clock.toFixed(0)} ms by the clock, processor ${first.time.toFixed(0)} ms`,
  );
  const peer = await duckDbItself();
  for (const [what, query, format] of QUERIES) {
    const times = { own: [] as number[], peer: [] as number[], processor: [] as number[] };
    let bytes = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const response = await timeOf(query, format);
      ({ bytes } = response);
      times.own.push(response.clock);
      times.processor.push(response.time);
      times.peer.push(await peer(query));
    }
    const [own, other] = [median(times.own), median(times.peer)];
    console.log(
      `${what}: ${own.toFixed(0)} ms by the clock in the median (limit ${LIMIT_MS} ms), ${(own / other).toFixed(1)} x DuckDB itself (${other.toFixed(0)} ms); processor of the service ${median(times.processor).toFixed(0)} ms; ${(bytes / 2 ** 20).toFixed(1)} MiB`,
    );
    if (own > LIMIT_MS) process.exitCode = 1;
  }
} finally {
  await service.stop();
  await rm(folder, { recursive: true });
}

/** DuckDB on the same rows, which the service exports once. */
async function duckDbItself(): Promise<(query: string) => Promise<number>> {
  const weights = join(folder, 'weights.parquet');
  await writeFile(weights, await bytesOf('/analytics/BIG/exports/weights?format=parquet'));
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run('SET threads = 2');
  await connection.run(`CREATE VIEW weights AS SELECT 'BIG' AS index_id, * FROM read_parquet('${weights}')`);
  const prices: string[] = [];
  for (let year = 2000; year < 2020; year += 4) {
    const path = join(folder, `prices-${year}.parquet`);
    const query = `SELECT date, identifier, CLOSE FROM prices WHERE year(date) BETWEEN ${year} AND ${year + 3}`;
    await writeFile(path, await bytesOf('/sql', { query, format: 'parquet' }));
    prices.push(`'${path}'`);
  }
  await connection.run(`CREATE VIEW prices AS SELECT * FROM read_parquet([${prices.join(', ')}])`);
  return async (query) => {
    const begin = performance.now();
    const result = await connection.stream(query);
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
    }
    return performance.now() - begin;
  };
}

async function timeOf(query: string, format: string) {
  const before = processorTime(service);
  const begin = performance.now();
  const { byteLength: bytes } = await bytesOf('/sql', { query, format });
  return { time: processorTime(service) - before, clock: performance.now() - begin, bytes };
}

async function bytesOf(path: string, body?: unknown): Promise<Uint8Array> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(service.url + path, {
    ...(body !== undefined && { method: 'POST', headers, body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function post(path: string, body: unknown): Promise<void> {
  await bytesOf(path, body);
}
