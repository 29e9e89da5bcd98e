import { readdirSync, readFileSync } from 'node:fs';
import { computeMedian } from '#domain/base/numbers.js';
import { waitForJob, readProcessorTime, waitForIdle, startService } from './service.js';

/**
 * Measures exports of the weights of 500 securities over 20 years (2.5 million rows) in each row format, in turns.
 * Prints bytes per second by three measures: wall-clock time, processor time of the service, and wall-clock time
 * without the time that its threads waited in the run queue of the scheduler. Limit for Parquet, by the last measure:
 * 100 MB per second.
 */
const LIMIT = 100;
const ROUNDS = 7;
const FORMATS = ['parquet', 'arrow', 'csv', 'json'] as const;

const service = await startService();
try {
  await post('/data/synthetic', { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' });
  await waitForJob(service, 'generate:market');
  const pipeline = { weighting: { type: 'MarketCapWeight' } };
  await post('/indices', { id: 'BIG', name: 'BIG', calendar: 'XNYS', base_date: '2000-01-03', pipeline });
  await post('/analytics/BIG/backtest', {});
  await waitForJob(service, 'backtest:BIG');
  await waitForIdle(service);
  const rounds = FORMATS.map((format) => ({ format, seen: [] as ExportMeasurement[] }));
  for (let round = 0; round < ROUNDS; round++)
    for (const { format, seen: measurements } of rounds) measurements.push(await measure(format));
  for (const { format, seen } of rounds) {
    const computeMedianOf = (value: (one: ExportMeasurement) => number): number => computeMedian(seen.map(value));
    const medianRate = computeMedianOf(({ bytes, clock, queued }) => bytes / (clock - queued) / 1000);
    console.log(
      `${format}: ${(seen[0]!.bytes / 1e6).toFixed(1)} MB; MB a second: ${computeMedianOf(({ bytes, clock }) => bytes / clock / 1000).toFixed(0)} by the clock, ${medianRate.toFixed(0)} without the run queue, ${computeMedianOf(({ bytes, time }) => bytes / time / 1000).toFixed(0)} by processor time; clock ${computeMedianOf(({ clock }) => clock).toFixed(0)} ms, of these queued ${computeMedianOf(({ queued }) => queued).toFixed(0)} ms, processor ${computeMedianOf(({ time }) => time).toFixed(0)} ms`,
    );
    if (format === 'parquet' && medianRate < LIMIT) process.exitCode = 1;
  }
} finally {
  await service.stop();
}

interface ExportMeasurement {
  readonly bytes: number;
  readonly clock: number;
  readonly time: number;
  readonly queued: number;
}

async function measure(format: string): Promise<ExportMeasurement> {
  const [time, queue, begin] = [readProcessorTime(service), readQueueTimes(), performance.now()];
  const answer = await fetch(`${service.url}/analytics/BIG/exports/weights?format=${format}`);
  if (!answer.ok) throw new Error(`the export answers ${answer.status}: ${await answer.text()}`);
  let bytes = 0;
  for await (const chunk of answer.body!) bytes += chunk.length;
  const clock = performance.now() - begin;
  // Threads wait at the same time, so the response waited at least as long as the thread that waited longest.
  const queuedMs = Math.max(0, ...[...readQueueTimes()].map(([id, ms]) => ms - (queue.get(id) ?? 0)));
  return { bytes, clock, time: readProcessorTime(service) - time, queued: queuedMs };
}

/** Returns the milliseconds that each thread of the service waited in the run queue, by thread id. */
function readQueueTimes(): ReadonlyMap<string, number> {
  const folder = `/proc/${service.pid}/task`;
  return new Map(
    readdirSync(folder).map((id) => [
      id,
      Number(readFileSync(`${folder}/${id}/schedstat`, 'utf8').split(' ')[1]) / 1e6,
    ]),
  );
}

async function post(path: string, body: unknown): Promise<void> {
  const answer = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
}
