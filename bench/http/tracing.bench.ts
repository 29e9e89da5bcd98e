import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from '#domain/numbers/order-statistics.js';
import { finished, processorTime, settled, startOn, startService, type RunningService } from './service.js';

/**
 * Processor time of a backtest of 500 securities over 20 years at a service with traces and at one without, in turns, and of
 * a thousand short requests. Each backtest has other costs, so that it is computed. Limit: 2 % of a backtest.
 */
const LIMIT = 0.02;
const ROUNDS = 15;
const REQUESTS = 1000;

const collector = createServer((incoming, outgoing) => {
  incoming.resume().on('end', () => outgoing.end('{}'));
});
collector.listen(0, '127.0.0.1');
await once(collector, 'listening');
const off = await startService();
process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
const on = await startOn(await mkdtemp(join(tmpdir(), 'bench-')), []);
delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
try {
  for (const service of [off, on]) await prepare(service);
  const jobs = await inTurns(backtest);
  const requests = await inTurns(shortRequests);
  report('a backtest', jobs);
  report(`${REQUESTS} requests`, requests);
  if (jobs.on / jobs.off - 1 > LIMIT) process.exitCode = 1;
} finally {
  await Promise.all([off.stop(), on.stop()]);
  collector.close();
}

async function prepare(service: RunningService): Promise<void> {
  await post(service, '/data/synthetic', {
    store_id: 'market',
    seed: 7,
    assets: 500,
    start: '2000-01-03',
    end: '2019-12-31',
  });
  await finished(service, 'generate:market');
  const pipeline = { weighting: { type: 'MarketCapWeight' } };
  await post(service, '/indices', { id: 'BIG', name: 'BIG', calendar: 'XNYS', base_date: '2000-01-03', pipeline });
  for (const round of [-3, -2, -1]) await backtest(service, round);
  await settled(service);
}

async function backtest(service: RunningService, round: number): Promise<void> {
  await post(service, '/analytics/BIG/backtest', { transaction_cost_bps: 10 + round });
  await finished(service, 'backtest:BIG');
}

async function shortRequests({ url }: RunningService): Promise<void> {
  for (let i = 0; i < REQUESTS; i++) await (await fetch(`${url}/indices/BIG`)).arrayBuffer();
}

/** Median of the processor time at each service, in milliseconds. */
async function inTurns(work: (service: RunningService, round: number) => Promise<void>) {
  const times = { off: [] as number[], on: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    const turns = [['off', off] as const, ['on', on] as const];
    for (const [name, service] of round % 2 === 0 ? turns : turns.toReversed()) {
      const before = processorTime(service);
      await work(service, round);
      times[name].push(processorTime(service) - before);
    }
  }
  return { off: median(times.off), on: median(times.on) };
}

function report(name: string, { off, on }: { readonly off: number; readonly on: number }): void {
  const more = ((on / off - 1) * 100).toFixed(1);
  console.log(`${name}: processor ${off.toFixed(1)} ms without traces, ${on.toFixed(1)} ms with (${more} %)`);
}

async function post({ url }: RunningService, path: string, body: unknown): Promise<void> {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
}
