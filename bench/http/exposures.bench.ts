import { finished, processorTime, settled, startService } from './service.js';

/**
 * Exposures of a run of 500 names over 20 years at the service, each asked for a window of its own so that no answer is
 * one that is kept: groups alone, then two datapoints with percentiles, then those beside a benchmark. Processor time of
 * the whole service, its serialisation included; the first question of each kind apart, which reads datapoints for
 * later ones. Limit: 50 ms in the median.
 */
const LIMIT_MS = 50;
const ROUNDS = 9;
const service = await startService();
try {
  await post('/data/synthetic', { store_id: 'market', seed: 7, assets: 500, start: '2000-01-03', end: '2019-12-31' });
  await finished(service, 'generate:market');
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
  await settled(service);
  await measure('groups', 'by=SECTOR');
  await measure('groups and two datapoints', 'by=SECTOR&fields=MARKET_CAP,DIVIDEND_YIELD');
  await measure('the same beside a benchmark', 'by=SECTOR&fields=MARKET_CAP,DIVIDEND_YIELD&benchmark=EQUAL');
} finally {
  await service.stop();
}

async function measure(what: string, query: string): Promise<void> {
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const before = processorTime(service);
    const answer = await fetch(`${service.url}/analytics/BIG/exposures?${query}&start=2000-01-${10 + round}`);
    bytes = (await answer.text()).length;
    if (!answer.ok) throw new Error(`exposures answer ${answer.status}`);
    times.push(processorTime(service) - before);
  }
  const [first, ...later] = times;
  const median = later.toSorted((a, b) => a - b)[later.length >> 1]!;
  const size = `${(bytes / 1024).toFixed(0)} KiB`;
  console.log(`${what}: median ${median.toFixed(0)} ms, first ${first!.toFixed(0)} ms (limit ${LIMIT_MS} ms, ${size})`);
  if (median > LIMIT_MS) process.exitCode = 1;
}

async function post(path: string, body: unknown): Promise<void> {
  const answer = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
}
