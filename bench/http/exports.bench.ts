import { request } from 'node:http';
import { EXPORT_NAMES } from '#domain/exports/catalogue.js';
import { FORMAT_NAMES } from '#domain/exports/formats.js';
import { finished, processorTime, settled, startService, watchMemory } from './service.js';

/**
 * Exports of a run of 500 names over 20 years, from a service in a process of its own to a client that throws the bytes away:
 * processor time of the first one, which measures what it shows; megabytes a second by the clock, and of the processor time of
 * the service; and the memory that reading the largest one takes. Limits: 100 MB/s of CSV, Arrow and JSON, of processor time, or 2 ms
 * where a table is smaller than that; 60 MiB of memory.
 */
const RATE_MIN = 100;
const SMALL_MS = 2;
const ROUNDS = { least: 3, most: 50 };
/** Small tables are read until so much has come: once is mostly the request, by code that is not yet compiled for speed. */
const BYTES_LEAST = 30e6;
const MB = 1e6;

const service = await startService();
try {
  await makeRun();
  await settled(service);
  for (const table of EXPORT_NAMES) {
    for (const format of FORMAT_NAMES) await measure(table, format);
  }
} finally {
  await service.stop();
}

async function makeRun(): Promise<void> {
  await post('/data/synthetic', { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' });
  await finished(service, 'generate:market');
  await post('/indices', {
    id: 'BIG',
    name: 'Big',
    calendar: 'XNYS',
    base_date: '2000-01-03',
    rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
    pipeline: { weighting: { type: 'MarketCapWeight', cap: 0.05 } },
  });
  await post('/analytics/BIG/backtest', { transaction_cost_bps: 5 });
  await finished(service, 'backtest:BIG');
}

async function measure(table: string, format: string): Promise<void> {
  // A workbook of 2.5 million rows takes half a minute: its last years are as good.
  const start = format === 'xlsx' ? '&start=2018-01-01' : '';
  const path = `/analytics/BIG/exports/${table}?format=${format}${start}`;
  const idle = processorTime(service);
  const size = await read(path);
  const first = processorTime(service) - idle;
  const rounds = Math.max(ROUNDS.least, Math.min(ROUNDS.most, Math.ceil(BYTES_LEAST / size)));
  const { held, peak } = watchMemory(service);
  const before = processorTime(service);
  const started = performance.now();
  let bytes = 0;
  for (let round = 0; round < rounds; round++) bytes += await read(path);
  const seconds = (performance.now() - started) / 1000;
  const processor = (processorTime(service) - before) / 1000;
  const rate = (time: number): string => `${(bytes / MB / time).toFixed(0).padStart(5)} MB/s`;
  const isSlow = format !== 'xlsx' && (1000 * processor) / rounds > Math.max(SMALL_MS, size / MB / (RATE_MIN / 1000));
  console.log(
    `${table.padEnd(14)} ${format.padEnd(6)} ${(bytes / rounds / MB).toFixed(2).padStart(8)} MB, first ${first.toFixed(0).padStart(4)} ms, then ${rate(seconds)} by the clock, ${rate(Math.max(processor, 0.001))} of processor time, at most ${(peak() - held).toFixed(0)} MiB more${isSlow ? `  (less than ${RATE_MIN} MB/s)` : ''}`,
  );
}

/** Reads an answer to its end without keeping it. */
function read(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(service.url + path, (answer) => {
      let bytes = 0;
      answer.on('data', (part: Buffer) => (bytes += part.length));
      answer.on('end', () => resolve(bytes));
      answer.on('error', reject);
      if (answer.statusCode !== 200) reject(new Error(`${path} is answered ${answer.statusCode}`));
    })
      .on('error', reject)
      .end();
  });
}

async function post(path: string, body: unknown): Promise<void> {
  const answer = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} is answered ${answer.status}: ${await answer.text()}`);
}
