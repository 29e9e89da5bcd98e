import { readFileSync, writeFileSync } from 'node:fs';
import { spread } from '../percentiles.js';
import { startService } from './service.js';

/**
 * What clients wait for the views of a stored run of 500 names over 20 years, one request after the other, and what reading its
 * record takes of the service's memory. Limits: p50 15 ms and p99 60 ms, attribution over the whole run 120 ms, 30 MB for a record
 * of 25 MB, 2 ms for a price.
 */
const REQUESTS = 200;
const WARM = 20;

const service = await startService();
try {
  await makeRuns();
  await measureRecord();
  const asset = (await json('/analytics/BIG/weights')).weights[3].identifier as string;
  for (const [path, limit] of [
    ['/analytics/BIG/overview', 15], ['/analytics/BIG/levels', 15], ['/analytics/BIG/levels?variant=total&start=2015-01-01', 15],
    ['/analytics/BIG/weights', 15], ['/analytics/BIG/weights?as_of=2010-06-30', 15], ['/analytics/BIG/weights?risk=true', 15], ['/analytics/BIG/weights?risk=true&benchmark=SMALL', 15],
    ['/analytics/BIG/factor-risk?benchmark=SMALL', 15], ['/analytics/BIG/rolling', 15], [`/analytics/BIG/assets/${asset}`, 15], ['/analytics/compare?ids=BIG,SMALL', 15],
    ['/analytics/BIG/attribution?start=2019-01-01&end=2019-12-31', 15], ['/analytics/BIG/attribution', 120],
    ['/analytics/BIG/attribution/groups?by=SECTOR&start=2019-01-01&end=2019-12-31', 15], ['/analytics/BIG/attribution/groups?by=SECTOR', 120],
    ['/analytics/BIG/reconcile', 120], ['/derivatives/BIG/term-structure?rate=0.03', 2],
  ] as const) await measure(path, limit);
} finally {
  await service.stop();
}

async function makeRuns(): Promise<void> {
  await post('/data/synthetic', { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' });
  await finished('generate:market');
  const index = (id: string, pipeline: object) => ({ id, name: id, calendar: 'XNYS', base_date: '2000-01-03', rebalance: { frequency: 'quarterly', anchor: 'third_friday' }, pipeline });
  await post('/indices', index('BIG', { weighting: { type: 'MarketCapWeight', cap: 0.05 } }));
  await post('/indices', index('SMALL', { selection: [{ id: 'n', type: 'TopN', params: { field: 'MARKET_CAP', count: 100 } }], weighting: { type: 'EqualWeight' } }));
  for (const [id, request] of [['SMALL', {}], ['BIG', { transaction_cost_bps: 5, benchmark: { kind: 'index', id: 'SMALL' } }]] as const) {
    await post(`/analytics/${id}/backtest`, request);
    await finished(`backtest:${id}`);
  }
}

async function measure(path: string, limitMs: number): Promise<void> {
  const times: number[] = [];
  let bytes = 0;
  for (let n = 0; n < WARM + REQUESTS; n++) {
    const begun = performance.now();
    const answer = await fetch(service.url + path);
    bytes = (await answer.arrayBuffer()).byteLength;
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
    if (n >= WARM) times.push(performance.now() - begun);
  }
  console.log(`${path.padEnd(76)} ${spread(times)}  (p50 limit ${limitMs} ms)  ${(bytes / 1024).toFixed(0)} KiB`);
}

/** Peak memory of the service while the record is read by a client that takes a second for it, above what it held before. */
async function measureRecord(): Promise<void> {
  const before = memoryOf('VmRSS');
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5'); // The peak counts from here.
  const begun = performance.now();
  const answer = await fetch(`${service.url}/analytics/BIG/record`);
  let bytes = 0;
  let first = 0;
  for await (const part of answer.body!) {
    first ||= performance.now() - begun;
    bytes += part.length;
  }
  console.log(
    `record of ${(bytes / 2 ** 20).toFixed(1)} MiB: first byte after ${first.toFixed(0)} ms, all in ${(performance.now() - begun).toFixed(0)} ms; ` +
      `memory of the service ${before.toFixed(0)} MiB, at most ${(memoryOf('VmHWM') - before).toFixed(0)} MiB more (limit 30)`,
  );
}

function memoryOf(line: 'VmRSS' | 'VmHWM'): number {
  return Number(new RegExp(`${line}:\\s+(\\d+)`).exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))![1]) / 1024;
}

async function post(path: string, body: unknown): Promise<void> {
  const answer = await fetch(service.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
}

async function json(path: string) {
  return (await fetch(service.url + path)).json() as Promise<any>; // eslint-disable-line
}

async function finished(jobId: string): Promise<void> {
  for (;;) {
    const { status, error } = (await json(`/jobs/${jobId}?wait=30`)) as { status: string; error: unknown };
    if (status === 'succeeded') return;
    if (!['queued', 'running'].includes(status)) throw new Error(`${jobId} ended ${status}: ${JSON.stringify(error)}`);
  }
}
