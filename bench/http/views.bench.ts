import { spread } from '../percentiles.js';
import { finished, processorTime, settled, startService, threadTimes, watchMemory } from './service.js';

/**
 * What clients wait for the views of a stored run of 500 names over 20 years, one request after the other: for views that are asked
 * for the first time, and again; what reading a record takes of the service's memory; and what the first view of each kind takes of
 * the thread that answers it after a restart, once the service is idle.
 * Limits: p50 15 ms and p99 60 ms, attribution over the whole run 120 ms, 30 MB for a record of 25 MB, 2 ms for a price. A
 * reconciliation hashes the stored bytes whenever it is asked, 57 MB here.
 */
const QUESTIONS = 100;
/** Runs compared at once, at most, and those beside the two that everything else is asked of. */
const COMPARED = 32;
/** Comparisons of so many runs that the service has room to hold. */
const REMEMBERED = 12;
const others = Array.from({ length: COMPARED - 2 }, (_, k) => `OF${k}`);
const RESTARTS = 3;

let service = await startService();
try {
  await makeRuns();
  await settled(service); // Threads that make themselves ready take memory too.
  await measureRecord('SMALL', 'written');
  await measureRecord('BIG', 'written');
  await measureRecord('BIG', 'read again');
  const { levels } = await json<{ levels: { index: string[] } }>('/analytics/BIG/levels');
  const index = levels.index.map((date) => date.slice(0, 10));
  const dates = Array.from({ length: QUESTIONS }, (_, k) => index[Math.floor(((k + 0.5) / QUESTIONS) * index.length)]!);
  const { weights } = await json<{ weights: { identifier: string }[] }>('/analytics/BIG/weights');
  const year = (date: string): string => `start=${date}&end=${Math.min(Number(date.slice(0, 4)) + 1, 2019)}-12-28`;
  const earlier = dates.filter((date) => date < '2019');
  const from = (k: number): string => index[20 + k]!;
  const last = dates.at(-1)!;

  await measure('overview', ['/analytics/BIG/overview'], 15);
  await measure(
    'levels from a date',
    dates.map((date) => `/analytics/BIG/levels?start=${date}`),
    15,
  );
  await measure(
    'levels of 20 years, a variant',
    ['price', 'total', 'net'].map((variant) => `/analytics/BIG/levels?variant=${variant}`),
    15,
  );
  await measure(
    'weights',
    dates.map((date) => `/analytics/BIG/weights?as_of=${date}`),
    15,
  );
  await measure(
    'weights with risk',
    dates.map((date) => `/analytics/BIG/weights?as_of=${date}&risk=true`),
    15,
  );
  await measure(
    'weights with active risk',
    dates.map((date) => `/analytics/BIG/weights?as_of=${date}&risk=true&benchmark=SMALL`),
    15,
  );
  await measure(
    'factor risk',
    dates.map((date) => `/analytics/BIG/factor-risk?as_of=${date}&benchmark=SMALL`),
    15,
  );
  await measure(
    'factor risk, statistical',
    dates.map((date) => `/analytics/BIG/factor-risk?as_of=${date}&benchmark=SMALL&model=statistical`),
    15,
  );
  await measure(
    'rolling risk',
    dates.map((_, k) => `/analytics/BIG/rolling?window=${20 + 2 * k}`),
    15,
  );
  await measure(
    'rolling risk by a half-life',
    dates.map((_, k) => `/analytics/BIG/rolling?half_life=${20 + 2 * k}`),
    15,
  );
  await measure(
    'a name',
    weights.slice(0, QUESTIONS).map(({ identifier }) => `/analytics/BIG/assets/${identifier}`),
    15,
  );
  await measure(
    'two runs compared',
    others.map((id) => `/analytics/compare?ids=BIG,${id}`),
    15,
  );
  await measure(
    `${COMPARED} runs compared`,
    others
      .slice(0, REMEMBERED)
      .map((_, k) => `/analytics/compare?ids=BIG,SMALL,${[...others.slice(k), ...others.slice(0, k)].join(',')}`),
    15,
  );
  await measure(
    'attribution, up to two years',
    earlier.map((date) => `/analytics/BIG/attribution?${year(date)}`),
    15,
  );
  await measure(
    'attribution by sector, up to two years',
    earlier.map((date) => `/analytics/BIG/attribution/groups?by=SECTOR&${year(date)}`),
    15,
  );
  await measure(
    'attribution against an index, up to two years',
    earlier.map((date) => `/analytics/BIG/attribution/groups?by=SECTOR&benchmark=SMALL&${year(date)}`),
    15,
  );
  await measure(
    'attribution, 20 years',
    Array.from({ length: 20 }, (_, k) => `/analytics/BIG/attribution?start=${from(k)}&end=${last}`),
    120,
  );
  await measure(
    'attribution by sector, 20 years',
    Array.from({ length: 20 }, (_, k) => `/analytics/BIG/attribution/groups?by=SECTOR&start=${from(k)}`),
    120,
  );
  await measure(
    'attribution against an index, 20 years',
    Array.from(
      { length: 20 },
      (_, k) => `/analytics/BIG/attribution/groups?by=SECTOR&benchmark=SMALL&start=${from(k)}`,
    ),
    120,
  );
  await measure(
    'reconciliation',
    Array.from({ length: 30 }, () => '/analytics/BIG/reconcile'),
    60,
  );
  await measure(
    'term structure',
    ['/derivatives/BIG/term-structure?expiries=2020-03-20,2020-06-19,2020-09-18&risk_free_rate=0.03'],
    2,
  );

  const day = dates[85]!;
  const name = weights[0]!.identifier;
  const firsts: Record<string, string> = {
    weights: `/analytics/BIG/weights?as_of=${day}`,
    'weights with risk': `/analytics/BIG/weights?as_of=${day}&risk=true`,
    'weights with active risk': `/analytics/BIG/weights?as_of=${day}&risk=true&benchmark=SMALL`,
    'factor risk': `/analytics/BIG/factor-risk?as_of=${day}&benchmark=SMALL`,
    'rolling risk': '/analytics/BIG/rolling',
    'a name': `/analytics/BIG/assets/${name}`,
    'two runs compared': '/analytics/compare?ids=BIG,SMALL',
    'levels from a date': `/analytics/BIG/levels?start=${day}`,
    'attribution, up to two years': `/analytics/BIG/attribution?${year(day)}`,
    'attribution by sector, up to two years': `/analytics/BIG/attribution/groups?by=SECTOR&${year(day)}`,
    'attribution, 20 years': `/analytics/BIG/attribution?start=${from(0)}&end=${last}`,
    'attribution by sector, 20 years': `/analytics/BIG/attribution/groups?by=SECTOR&start=${from(0)}`,
    reconciliation: '/analytics/BIG/reconcile',
  };
  await measureFirsts(firsts);
} finally {
  await service.stop();
}

async function makeRuns(): Promise<void> {
  await post('/data/synthetic', { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' });
  await finished(service, 'generate:market');
  const index = (id: string, pipeline: object) => ({
    id,
    name: id,
    calendar: 'XNYS',
    base_date: '2000-01-03',
    rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
    pipeline,
  });
  await post('/indices', index('BIG', { weighting: { type: 'MarketCapWeight', cap: 0.05 } }));
  await post(
    '/indices',
    index('SMALL', {
      selection: [{ id: 'n', type: 'TopN', params: { field: 'MARKET_CAP', count: 100 } }],
      weighting: { type: 'EqualWeight' },
    }),
  );
  for (const [k, id] of others.entries()) {
    await post(
      '/indices',
      index(id, {
        selection: [{ id: 'n', type: 'TopN', params: { field: 'MARKET_CAP', count: 3 + k } }],
        weighting: { type: 'EqualWeight' },
      }),
    );
  }
  for (const [id, request] of [
    ...others.map((id) => [id, {}] as const),
    ['SMALL', {}],
    ['BIG', { transaction_cost_bps: 5, benchmark: { kind: 'index', id: 'SMALL' } }],
  ] as const) {
    await post(`/analytics/${id}/backtest`, request);
    await finished(service, `backtest:${id}`);
  }
}

/** Every question once, then as often again until a hundred have been answered. */
async function measure(what: string, paths: readonly string[], limitMs: number): Promise<void> {
  const made = await ask(paths);
  const again = await ask(
    Array.from({ length: Math.max(1, Math.ceil(QUESTIONS / paths.length)) }).flatMap(() => paths),
  );
  console.log(
    `${what.padEnd(46)} ${made.text}   again: ${again.text}   (p50 limit ${limitMs} ms, ${(made.bytes / 1024).toFixed(0)} KiB)`,
  );
}

async function ask(paths: readonly string[]): Promise<{ readonly text: string; readonly bytes: number }> {
  const times: number[] = [];
  let bytes = 0;
  const before = processorTime(service);
  for (const path of paths) {
    const start = performance.now();
    const answer = await fetch(service.url + path);
    const body = await answer.arrayBuffer();
    times.push(performance.now() - start);
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${new TextDecoder().decode(body)}`);
    bytes = body.byteLength;
  }
  return {
    text: `${spread(times)}   ${((processorTime(service) - before) / paths.length).toFixed(1).padStart(5)} ms of processor`,
    bytes,
  };
}

/** Time of the busiest thread for the first question of each kind that a thread is asked, in the order given. */
async function measureFirsts(paths: Readonly<Record<string, string>>): Promise<void> {
  const times = new Map<string, number[]>(Object.keys(paths).map((what) => [what, []]));
  for (let k = 0; k < RESTARTS; k++) {
    service = await service.restart();
    await settled(service);
    for (const [what, path] of Object.entries(paths)) {
      const before = threadTimes(service);
      await json(path);
      times.get(what)!.push(Math.max(...[...threadTimes(service)].map(([id, ms]) => ms - (before.get(id) ?? 0))));
    }
  }
  for (const [what, of] of times)
    console.log(
      `first of a thread: ${what.padEnd(40)} ${of.map((ms) => ms.toFixed(1).padStart(6)).join('')} ms of that thread`,
    );
}

/** Peak memory of the service while a record is read, above what it held before. */
async function measureRecord(id: string, what: string): Promise<void> {
  const { held, peak } = watchMemory(service);
  const start = performance.now();
  const answer = await fetch(`${service.url}/analytics/${id}/record`);
  let bytes = 0;
  let first = 0;
  for await (const part of answer.body!) {
    first ||= performance.now() - start;
    bytes += part.length;
  }
  console.log(
    `record ${what}, ${(bytes / 2 ** 20).toFixed(1)} MiB: first byte after ${first.toFixed(0)} ms, all in ${(performance.now() - start).toFixed(0)} ms; ` +
      `memory of the service ${held.toFixed(0)} MiB, at most ${(peak() - held).toFixed(0)} MiB more (limit 30)`,
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

async function json<T>(path: string): Promise<T> {
  return (await (await fetch(service.url + path)).json()) as T; // The service's own answers.
}
