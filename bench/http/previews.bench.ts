import { createHash } from 'node:crypto';
import { eightRules } from '../domain/rules/eight-rules.js';
import { spread } from '../percentiles.js';
import { finished, processorTime, startService, type RunningService } from './service.js';

/**
 * What clients wait for previews of an index with eight rules on ten years of 500 and of 3,000 names, one request after the other:
 * the first of a store, fifty at dates all over it, the same again, and fifty of a document that is edited before each.
 * Limits: p50 15 ms and 60 ms.
 */
const PREVIEWS = 50;

const YEARS = { start: '2010-01-04', end: '2019-12-31' };

const indexOf = (count: number) => ({
  id: 'EIGHT',
  name: 'Eight rules',
  calendar: 'XNYS',
  base_date: '2011-06-01',
  rebalance: { frequency: 'monthly' },
  pipeline: {
    selection: eightRules({ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count } }),
    weighting: { type: 'MarketCapWeight', params: {}, cap: 0.05 },
  },
});

for (const { names, limitMs } of [
  { names: 500, limitMs: 15 },
  { names: 3000, limitMs: 60 },
]) {
  const service = await startService();
  try {
    await measureMarket(service, names, limitMs);
  } finally {
    await service.stop();
  }
}

async function measureMarket(service: RunningService, names: number, limitMs: number): Promise<void> {
  await send(service, 'POST', '/data/synthetic', { store_id: 'market', seed: 7, assets: names, ...YEARS });
  await finished(service, 'generate:market');
  await send(service, 'POST', '/indices', indexOf(300));
  await send(service, 'PUT', '/indices/EIGHT', indexOf(300));
  const dates = Array.from({ length: PREVIEWS }, (_, k) => dateAfter('2011-06-01', ((k * 37) % PREVIEWS) * 62));
  const stored = (date: string): Question => ({ path: '/indices/EIGHT/preview', body: { as_of: date } });
  console.log(`${names} names x 10 years (p50 limit ${limitMs} ms)`);
  await measure(service, 'the first', [stored('2019-06-03')]);
  await measure(service, 'at other dates', dates.map(stored));
  await measure(service, 'the same again', dates.map(stored));
  await measure(
    service,
    'of an edited document',
    dates.map((date, k) => ({ path: '/indices/preview', body: { document: indexOf(250 + k), as_of: date } })),
  );
}

interface Question {
  readonly path: string;
  readonly body: unknown;
}

async function measure(service: RunningService, what: string, questions: readonly Question[]): Promise<void> {
  const times: number[] = [];
  const hash = createHash('sha256');
  const before = processorTime(service);
  for (const { path, body } of questions) {
    const start = performance.now();
    const bytes = await send(service, 'POST', path, body);
    times.push(performance.now() - start);
    hash.update(bytes);
  }
  const processor = (processorTime(service) - before) / questions.length;
  const text = times.length === 1 ? `${times[0]!.toFixed(0)} ms` : spread(times);
  console.log(
    `  ${what.padEnd(24)} ${text}   ${processor.toFixed(1).padStart(5)} ms of processor   answers ${hash.digest('hex').slice(0, 12)}`,
  );
}

function dateAfter(date: string, days: number): string {
  const DAY_MS = 86_400_000;
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

async function send({ url }: RunningService, method: string, path: string, body: unknown): Promise<Uint8Array> {
  const answer = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${new TextDecoder().decode(bytes)}`);
  return bytes;
}
