import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { computeMedian } from '#domain/base/numbers.js';
import { openSpan, startTrace, toSpanContext } from '#base/tracing/tracing.js';
import { openTracing } from '#cli/compose/otlp-exporter.js';
import { measureThreadMs } from '../measure.js';
import { readNumber } from '../variables.js';
import { waitForJob, readProcessorTime, waitForIdle, startOn, type RunningService } from './service.js';

/**
 * Measures the processor time that tracing adds to a backtest of 500 securities over 20 years with a new outcome, in
 * two ways.
 *
 * Directly: the spans of one backtest are recorded and sent to a collector in the process of the bench, so the work of
 * the collector counts as well. A service sends the spans of five seconds in one request. If it runs only one backtest
 * in that time, this backtest bears the cost of a whole request. The limit applies to this time, as a share of the
 * backtest.
 *
 * By pairs: three services with one worker take turns, two without a collector and one with a collector. The third
 * receives requests with a `traceparent`, some sampled and some not sampled. Only sampled and unsampled requests run in
 * the same process. Processes differ by some per cent from start to start, as the two services without a collector
 * show. Prints the medians of the paired ratios and their 95 % confidence intervals, which hold for any distribution.
 */
const ROUNDS = readNumber('TRACING_ROUNDS');
const STARTS = readNumber('TRACING_STARTS');
const UNTIMED_ROUNDS = 6;
/** Number of requests to the collector. */
const BATCHES = 300;
const LIMIT = 0.02;
const SETTINGS = {
  otelDisabled: false,
  otlpHeaders: '',
  otlpServiceName: 'divisor',
  otlpResource: '',
  traceSampler: 'always_on',
  traceRatio: 1,
  traceDelayMs: 5000,
} as const;
const PATH = '/analytics/BIG/backtest';

type TracingMode = 'off' | 'off as well' | 'not sampled' | 'sampled';
const TRACING_MODES: readonly TracingMode[] = ['off', 'off as well', 'not sampled', 'sampled'];

let spans = 0;
const collector = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => (text += part));
  request.on('end', () => {
    spans += text.split('"spanId"').length - 1;
    response.end('{}');
  });
}).listen(0, '127.0.0.1');
await once(collector, 'listening');
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
const tracedEnvironment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER: 'parentbased_always_off' };

const times = new Map<TracingMode, number[]>(TRACING_MODES.map((way) => [way, []]));
let serial = 0;
try {
  for (let start = 0; start < STARTS; start++) await measureStart();
  const backtest = computeMedian(times.get('not sampled')!);
  const perBacktest = Math.round(spans / (STARTS * (ROUNDS + UNTIMED_ROUNDS)));
  console.log(`${backtest.toFixed(1)} ms of the processor a backtest; ${perBacktest} spans of a sampled one`);
  const sendingMs = await measureSendingMs(perBacktest);
  const addedShare = sendingMs / backtest;
  console.log(
    `recorded and sent: ${sendingMs.toFixed(2)} ms, ${(100 * addedShare).toFixed(2)} % of it (limit ${100 * LIMIT} %)`,
  );
  const lowest = report('sampled, of not sampled in the same process', 'sampled', 'not sampled');
  report('not sampled, of no collector in another process', 'not sampled', 'off');
  report('no collector, of no collector in another process', 'off as well', 'off');
  if (addedShare > LIMIT || lowest > 1 + LIMIT) process.exitCode = 1;
} finally {
  collector.close();
}

/**
 * Returns the processor time of a request that carries this number of spans. This process both sends and receives it.
 */
async function measureSendingMs(count: number): Promise<number> {
  const costs: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const settings = { ...SETTINGS, otlpEndpoint: endpoint };
    const tracing = openTracing({ settings, version: 'bench', log: { warn: () => {} } })!;
    const before = measureThreadMs();
    for (let k = 0; k < count; k++)
      openSpan('job', {
        parent: toSpanContext(startTrace()!),
        attributes: { 'job.id': 'backtest:BIG', 'job.kind': 'backtest' },
      })!.end();
    await tracing.close();
    costs.push(measureThreadMs() - before);
  }
  return computeMedian(costs);
}

async function measureStart(): Promise<void> {
  const services: RunningService[] = [];
  try {
    for (const environment of [{}, {}, tracedEnvironment]) services.push(await startPrepared(environment));
    const [off, second, on] = services as [RunningService, RunningService, RunningService];
    const servicesByMode: Readonly<Record<TracingMode, RunningService>> = {
      off,
      'off as well': second,
      'not sampled': on,
      sampled: on,
    };
    for (let round = -UNTIMED_ROUNDS; round < ROUNDS; round++) {
      const order = round % 2 === 0 ? TRACING_MODES : TRACING_MODES.toReversed();
      for (const way of order) {
        const time = await measureTurn(servicesByMode[way], way);
        if (round >= 0) times.get(way)!.push(time);
      }
    }
  } finally {
    for (const service of services) await service.stop();
  }
}

async function startPrepared(environment: Readonly<Record<string, string>>): Promise<RunningService> {
  const words = ['--workers', '1', '--warm-up', 'off', '--log-level', 'silent'];
  const service = await startOn(await mkdtemp(join(tmpdir(), 'bench-')), words, { environment });
  const market = { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' };
  await send(service, 'POST', '/data/synthetic', market, {});
  await waitForJob(service, 'generate:market');
  const index = {
    id: 'BIG',
    name: 'Big',
    calendar: 'XNYS',
    base_date: '2000-01-03',
    rebalance: { frequency: 'quarterly' },
    pipeline: { weighting: { type: 'MarketCapWeight', cap: 0.05 } },
  };
  await send(service, 'PUT', '/indices/BIG', index, {});
  await waitForIdle(service);
  return service;
}

/** Returns the processor time of a backtest with a new outcome. */
async function measureTurn(service: RunningService, way: TracingMode): Promise<number> {
  const id = (++serial).toString(16).padStart(16, '0');
  const flags = way === 'sampled' ? '01' : '00';
  const before = readProcessorTime(service);
  const body = { transaction_cost_bps: serial / 1000 };
  await send(service, 'POST', PATH, body, { traceparent: `00-${id}${id}-${id}-${flags}` });
  await waitForJob(service, 'backtest:BIG');
  return readProcessorTime(service) - before;
}

async function send(
  { url }: RunningService,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
}

/** Prints the ratios of one way to another. @returns the lower end of the confidence interval of their median */
function report(label: string, way: TracingMode, other: TracingMode): number {
  const otherTimes = times.get(other)!;
  const ratios = times
    .get(way)!
    .map((time, i) => time / otherTimes[i]!)
    .toSorted((a, b) => a - b);
  // Ranks of the order statistics that enclose the median, by the normal approximation of the binomial.
  const half = 0.98 * Math.sqrt(ratios.length);
  const getAtRank = (rank: number): number => ratios[Math.min(Math.max(Math.round(rank), 0), ratios.length - 1)]!;
  const [low, high] = [getAtRank(ratios.length / 2 - half - 1), getAtRank(ratios.length / 2 + half)];
  const middle = computeMedian(ratios);
  const intervalText = `${low.toFixed(4)} to ${high.toFixed(4)}`;
  console.log(`${label.padEnd(54)} ${middle.toFixed(4)} (${intervalText}), ${ratios.length} pairs`);
  return low;
}
