import {
  waitForJob,
  readProcessorTime,
  waitForIdle,
  startService,
  watchMemory,
  type RunningService,
} from './service.js';
import { send } from './peers/works.js';
import { FEWEST_NAMES, readNumber } from '../variables.js';

/**
 * Measures what happens to a thousand indices over one store, each with a stored run, when a day is appended to the
 * store. Prints the time until every run includes the day, and the additional memory. Goal: 15 s and 200 MB on two
 * workers. MANY_INDICES and MANY_NAMES (default: 500) reduce the size.
 */
const INDICES = readNumber('MANY_INDICES');
const SECURITIES = readNumber('MANY_NAMES');
/** Number of indices per batch. It is within the limits of a batch and of the queue. */
const BATCH = 100;
const DAYS = 3;
const STORE = { store_id: 'market', seed: 7, assets: SECURITIES, start: '2015-01-02', end: '2019-12-27' };
const ADDED_DAYS = ['2019-12-30', '2019-12-31', '2020-01-02'];

const service = await startService(['--workers', '2']);
try {
  await send(service, 'POST', '/data/synthetic', STORE);
  await waitForJob(service, 'generate:market');
  const ids = await defineIndices(service);
  await printTimes('runs made', ids);
  for (const until of ADDED_DAYS.slice(0, DAYS)) {
    await send(service, 'POST', '/data/stores/market/refresh', { until });
    await waitForJob(service, 'refresh:market');
    await waitForIdle(service);
    await printTimes(`${until} appended to each`, ids);
  }
} finally {
  await service.stop();
}

/** Creates index definitions that differ in constituents, weighting and schedule. */
async function defineIndices(of: RunningService): Promise<readonly string[]> {
  const ids = Array.from({ length: INDICES }, (_, i) => `I${String(i).padStart(4, '0')}`);
  for (const [i, id] of ids.entries()) {
    const count = FEWEST_NAMES + ((7 * i) % (SECURITIES - FEWEST_NAMES));
    await send(of, 'POST', '/indices', {
      id,
      name: id,
      calendar: 'XNYS',
      base_date: STORE.start,
      rebalance: { frequency: i % 2 === 0 ? 'quarterly' : 'monthly' },
      pipeline: {
        selection: [{ id: 'size', type: 'TopN', params: { count } }],
        weighting: { type: i % 3 === 0 ? 'EqualWeight' : 'MarketCapWeight' },
      },
    });
  }
  return ids;
}

async function printTimes(label: string, ids: readonly string[]): Promise<void> {
  const memory = watchMemory(service);
  const [start, processor] = [performance.now(), readProcessorTime(service)];
  for (let i = 0; i < ids.length; i += BATCH) {
    const batch = ids.slice(i, i + BATCH);
    await send(service, 'POST', '/analytics/backtests', { ids: batch });
    for (const id of batch) await waitForJob(service, `backtest:${id}`);
  }
  const seconds = (performance.now() - start) / 1000;
  const work = (readProcessorTime(service) - processor) / 1000;
  const grownBytes = memory.peak() - memory.held;
  console.log(
    `${INDICES} indices of up to ${SECURITIES} names, ${label}: ${seconds.toFixed(1)} s, ${work.toFixed(1)} s of processor (${((1000 * work) / INDICES).toFixed(1)} ms each), at most ${grownBytes.toFixed(0)} MiB beyond ${memory.held.toFixed(0)}`,
  );
}
