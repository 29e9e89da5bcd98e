import { setTimeout as sleep } from 'node:timers/promises';
import { finished, processorTime, settled, startService } from './service.js';

/**
 * Exposures of a run of 500 names over 20 years at the service, each asked for a window of its own so that no answer is
 * one that is kept: groups alone, then two datapoints with percentiles, then those beside a benchmark. Processor time of
 * the whole service, its serialisation included. Three figures of each:
 *
 * - later questions, whose figures the thread has worked out before: limit 50 ms in the median;
 * - the first question about a run, by a thread that has warmed up on another run: the data are new, the code is not;
 * - the first question after a start, before anything has warmed up: the code is compiled and the market opened for it.
 */
const LIMIT_MS = 50;
const ROUNDS = 9;
const KINDS = [
  ['groups', 'by=SECTOR'],
  ['groups and two datapoints', 'by=SECTOR&fields=MARKET_CAP,DIVIDEND_YIELD'],
  ['the same beside a benchmark', 'by=SECTOR&fields=MARKET_CAP,DIVIDEND_YIELD&benchmark=EQUAL'],
] as const;
let service = await startService();
try {
  await post('/data/synthetic', { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' });
  await finished(service, 'generate:market');
  // The one stored last is what the threads warm up on.
  for (const [id, weighting] of [
    ['BIG', 'MarketCapWeight'],
    ['EQUAL', 'EqualWeight'],
  ] as const) {
    const pipeline = { weighting: { type: weighting } };
    const rebalance = { frequency: 'quarterly' };
    await post('/indices', { id, name: id, calendar: 'XNYS', base_date: '2000-01-03', rebalance, pipeline });
    await post(`/analytics/${id}/backtest`, {});
    await finished(service, `backtest:${id}`);
  }
  for (const [what, query] of KINDS) {
    service = await service.restart();
    await served();
    const fresh = (await timeOf(query, 0)).time;
    service = await service.restart();
    await settled(service);
    const answers = [];
    for (let round = 0; round < ROUNDS; round++) answers.push(await timeOf(query, round));
    const [first, ...later] = answers.map(({ time }) => time);
    const median = later.toSorted((a, b) => a - b)[later.length >> 1]!;
    const size = `${(answers[0]!.bytes / 1024).toFixed(0)} KiB`;
    console.log(
      `${what}: median ${median.toFixed(0)} ms, first of the run ${first!.toFixed(0)} ms, first after a start ${fresh.toFixed(0)} ms (limit of the median ${LIMIT_MS} ms, ${size})`,
    );
    if (median > LIMIT_MS) process.exitCode = 1;
  }
} finally {
  await service.stop();
}

async function timeOf(query: string, round: number): Promise<{ readonly time: number; readonly bytes: number }> {
  const before = processorTime(service);
  const answer = await fetch(`${service.url}/analytics/BIG/exposures?${query}&start=2000-01-${10 + round}`);
  const bytes = (await answer.text()).length;
  if (!answer.ok) throw new Error(`exposures answer ${answer.status}`);
  return { time: processorTime(service) - before, bytes };
}

/** Waits until the market is served, and no longer: what follows comes before any warm-up. */
async function served(): Promise<void> {
  const LOOK_MS = 10;
  for (;;) {
    const { store } = (await (await fetch(`${service.url}/health`)).json()) as { store: { status: string } }; // The service's own answer.
    if (store.status === 'ready') return;
    await sleep(LOOK_MS);
  }
}

async function post(path: string, body: unknown): Promise<void> {
  const answer = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
}
