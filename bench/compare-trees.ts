import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { computeMedian } from '#domain/base/numbers.js';
import { waitForJob, readProcessorTime, waitForIdle, startOn, type RunningService } from './http/service.js';
import { refuse } from './variables.js';

/**
 * Compares the processor time per request of two built trees. Both services run at the same time, each on its own home.
 * They receive requests in turns (old, new, new, old), so that other load on the machine affects both. The bench prints
 * the median of each tree and the median of the paired ratios new / old. If the ratio is below 1, the new tree needs
 * less time. The scheduler counts the times of each thread in nanoseconds.
 *
 * npm run bench:trees -- OLD [--new TREE] [--pairs 7] [--assets 100] [words of the questions]
 *
 * OLD is another checkout with its `dist`. The new tree is this checkout by default. The time of a job is counted from
 * its request to its end. Jobs run one at a time.
 */
interface Question {
  readonly what: string;
  /** Number of requests per turn: about half a second of processor time. */
  readonly requests: number;
  ask(url: string, serial: number): Promise<Response>;
  /** Number of concurrent requests. Default: 8. */
  readonly atOnce?: number;
}

/** Number of watchlists of 3 KiB each. Together they do not fit into the document cache. */
const DOCUMENTS = 4000;
const SECURITIES = Array.from({ length: 250 }, (_, i) => `NAME${String(i).padStart(5, '0')}`);
const CONCURRENCY = 8;
/** Path of the program in a built tree. */
const MAIN = 'dist/src/main.js';

const { old, now, pairs, assets, words } = readArguments(process.argv.slice(2));
const questions = listQuestions().filter(({ what }) => words.every((word) => what.includes(word)));
if (questions.length === 0)
  refuse(
    `no question has ${words.join(' and ')} in it; there are\n${listQuestions()
      .map(({ what }) => `  ${what}`)
      .join('\n')}`,
  );
const services = await Promise.all([old, now].map(startServiceOf));
try {
  await Promise.all(services.map(prepare));
  console.log(
    `${'processor time a request, ms, medians'.padEnd(40)}     old     new new/old   new/old of ${pairs} pairs`,
  );
  for (const question of questions) await compare(question);
} finally {
  for (const service of services) await service.stop();
}

async function startServiceOf(tree: string): Promise<RunningService> {
  return startOn(await mkdtemp(join(tmpdir(), 'bench-')), ['--workers', '1'], { main: join(tree, MAIN) });
}

async function compare({ what, requests, ask, atOnce = CONCURRENCY }: Question): Promise<void> {
  const times = services.map((): number[] => []);
  for (let pair = -1; pair < pairs; pair++) {
    for (const side of pair % 2 === 0 ? [0, 1] : [1, 0]) {
      const service = services[side]!;
      const before = readProcessorTime(service);
      await runConcurrently(requests, atOnce, async (serial) => {
        const answer = await ask(service.url, serial + (pair + 1) * requests);
        await answer.arrayBuffer();
        if (!answer.ok) throw new Error(`${what}: ${answer.status}`);
      });
      if (pair >= 0) times[side]!.push((readProcessorTime(service) - before) / requests); // The first pair is not counted: V8 compiles the code.
    }
  }
  const [olds, news] = times as [number[], number[]];
  const ratios = olds.map((time, i) => news[i]! / time);
  const cells = [olds, news, ratios].map((of) => computeMedian(of).toFixed(3).padStart(8));
  const rangeText = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  console.log(`${what.padEnd(40)}${cells.join('')}   ${rangeText}`);
}

/** Runs a task `count` times with limited concurrency. */
async function runConcurrently(count: number, atOnce: number, run: (serial: number) => Promise<void>): Promise<void> {
  let serial = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (serial < count) await run(serial++);
    }),
  );
}

function listQuestions(): readonly Question[] {
  const createQuestion = (label: string, requests: number, path: (serial: number) => string): Question => ({
    what: label,
    requests,
    ask: (url, serial) => fetch(url + path(serial)),
  });
  const formatDay = (serial: number): string =>
    `20${String(1 + (serial % 18)).padStart(2, '0')}-06-0${1 + (serial % 9)}`;
  return [
    createQuestion('health', 1500, () => '/health'),
    createQuestion("polling: a job's status", 1500, () => '/jobs/generate:market'),
    createQuestion('documents: one, read again', 1500, (serial) => `/data/watchlists/w${serial % 50}`),
    createQuestion(
      'documents: one, beyond the cache',
      1500,
      (serial) => `/data/watchlists/w${(serial * 1009) % DOCUMENTS}`,
    ),
    createQuestion(`documents: a list of ${DOCUMENTS}`, 1, () => '/data/watchlists'),
    { what: 'documents: a write', requests: 800, ask: (url, serial) => putWatchlist(url, serial % DOCUMENTS) },
    { what: 'documents: a changed definition', requests: 500, ask: putIndex },
    { what: 'documents: a changed definition, alone', requests: 300, atOnce: 1, ask: putIndex },
    createQuestion('views: overview', 1000, () => '/analytics/BIG/overview'),
    createQuestion('views: levels from a date', 1000, (serial) => `/analytics/BIG/levels?start=${formatDay(serial)}`),
    createQuestion('views: weights', 1200, (serial) => `/analytics/BIG/weights?as_of=${formatDay(serial)}`),
    createQuestion(
      'views: weights with risk',
      1500,
      (serial) => `/analytics/BIG/weights?as_of=${formatDay(serial)}&risk=true`,
    ),
    createQuestion(
      'views: attribution',
      1200,
      (serial) => `/analytics/BIG/attribution?start=${formatDay(serial)}&end=2019-12-27`,
    ),
    ...createJobQuestions(),
  ];
}

/**
 * Returns questions that submit a job with a large result and wait for its end. A backtest of a changed index writes
 * its files. A repeated backtest of an unchanged index writes nothing and verifies the stored files.
 */
function createJobQuestions(): readonly Question[] {
  const createJob = (label: string, requests: number, id: string, path: string, body: unknown): Question => ({
    what: `jobs: ${label}`,
    requests,
    atOnce: 1,
    async ask(url) {
      await requireOk(sendRequest(url, 'POST', path, body));
      return waitForEnd(url, id);
    },
  });
  const costs = Array.from({ length: 24 }, (_, bps) => bps);
  const sweep = { sweep_id: 'SWEEP', index_id: 'BIG', grid: { '/request/transaction_cost_bps': costs } };
  const createChangedBacktest = (frequency: 'quarterly' | 'monthly'): Question => {
    const backtest = createJob('', 6, `backtest:${frequency}`, `/analytics/${frequency}/backtest`, {});
    return {
      ...backtest,
      what: `jobs: a ${frequency} backtest, changed`,
      async ask(url, serial) {
        await requireOk(
          sendRequest(
            url,
            'PUT',
            `/indices/${frequency}`,
            createCappedIndex(frequency, { frequency, cap: 0.05 + serial / 1e7 }),
          ),
        );
        return backtest.ask(url, serial);
      },
    };
  };
  return [
    createChangedBacktest('quarterly'),
    createChangedBacktest('monthly'),
    createJob('a backtest', 6, 'backtest:BIG', '/analytics/BIG/backtest', {}),
    createJob('a risk model', 6, 'risk:MODEL', '/risk-models/MODEL/estimate', { index_id: 'BIG', start: '2010-01-04' }),
    createJob('a sweep of 24', 1, 'sweep:SWEEP', '/analytics/sweeps', sweep),
  ];
}

/** Waits for the end of a job and returns a small response, without the result of the job. */
async function waitForEnd(url: string, id: string): Promise<Response> {
  await waitForJob({ url }, id);
  return fetch(`${url}/health/live`);
}

/** Stores an index. Its content differs at each call, so each call creates a version. */
function putIndex(url: string, serial: number): Promise<Response> {
  const id = `PUT-${serial % 50}`;
  const pipeline = { weighting: { type: 'EqualWeight' } };
  const document = {
    id,
    name: `Index ${serial} of ${Date.now()}`,
    calendar: 'XNYS',
    base_date: '2010-01-04',
    pipeline,
  };
  return sendRequest(url, 'PUT', `/indices/${id}`, document);
}

function putWatchlist(url: string, serial: number): Promise<Response> {
  return sendRequest(url, 'PUT', `/data/watchlists/w${serial}`, { name: `List ${serial}`, identifiers: SECURITIES });
}

/** Creates a market over 20 years, an index with a run, and watchlists. */
async function prepare(service: RunningService): Promise<void> {
  const { url } = service;
  await requireOk(
    sendRequest(url, 'POST', '/data/synthetic', {
      store_id: 'market',
      seed: 7,
      assets,
      start: '2000-01-03',
      end: '2019-12-31',
    }),
  );
  await waitForJob(service, 'generate:market');
  await requireOk(sendRequest(url, 'POST', '/indices', createCappedIndex('BIG')));
  await requireOk(sendRequest(url, 'POST', '/analytics/BIG/backtest', {}));
  await waitForJob(service, 'backtest:BIG');
  await runConcurrently(DOCUMENTS, CONCURRENCY, async (serial) => requireOk(putWatchlist(url, serial)));
  await waitForIdle(service);
}

function createCappedIndex(id: string, { frequency = 'quarterly', cap = 0.05 } = {}): object {
  const pipeline = { weighting: { type: 'MarketCapWeight', cap } };
  const rebalance = { frequency, anchor: 'third_friday' };
  return { id, name: id, calendar: 'XNYS', base_date: '2000-01-03', rebalance, pipeline };
}

function sendRequest(url: string, method: string, path: string, body: unknown): Promise<Response> {
  return fetch(url + path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

async function requireOk(request: Promise<Response>): Promise<void> {
  const answer = await request;
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}: ${text}`);
}

function readArguments(argv: readonly string[]) {
  const remainingWords = [...argv];
  const readOption = (name: string, otherwise: string): string => {
    const position = remainingWords.indexOf(name);
    return position < 0 ? otherwise : (remainingWords.splice(position, 2)[1] ?? otherwise);
  };
  const newerTree = readOption('--new', '.');
  const count = Number(readOption('--pairs', '7'));
  const names = Number(readOption('--assets', '100'));
  const [older, ...trees] = remainingWords;
  if (older === undefined || [count, names].some((number) => !Number.isSafeInteger(number) || number < 1))
    refuse('bench:trees OLD [--new TREE] [--pairs 7] [--assets 100] [words of the questions]');
  for (const tree of [older, newerTree])
    if (!existsSync(join(tree, MAIN))) refuse(`${resolve(tree)} has no ${MAIN}: build it with npm ci && npm run build`);
  return { old: resolve(older), now: resolve(newerTree), pairs: count, assets: names, words: trees };
}
