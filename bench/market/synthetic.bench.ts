import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCalendars } from '#market/serving/calendar-files.js';
import { runMarketTask } from '#market/process/market-process.js';
import { sessionsBetween } from '#services/datasets/synthetic-dataset.js';

/** A synthetic market of 500 names and 20 years from the request to panels that can be served, written to disk on the way. */
const REPEATS = 3;
const folder = await mkdtemp(join(tmpdir(), 'divisor-bench-'));
const sessions = sessionsBetween(openCalendars().get('XNYS')!.sessions, '2000-01-01', '2019-12-31');
const spec = {
  seed: 42,
  assets: 500,
  sessions,
  exchange: 'XNYS',
  currency: 'USD',
  sectors: 8,
  market_return: 0.07,
  market_volatility: 0.16,
  specific_volatility: 0.25,
  dividend_yield: 0.02,
  splits_per_year: 0.03,
  delistings_per_year: 0.01,
  listings_per_year: 0.01,
  missing_rate: 0,
};
try {
  const times: number[] = [];
  let rows = 0;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const start = performance.now();
    const result = await runMarketTask(
      'generate',
      { spec, folder: join(folder, String(repeat)) },
      { load: { datasetId: 'bench', adjustment: 'none' } },
    );
    times.push(performance.now() - start);
    if (result.kind === 'accepted') rows = result.summary.rows.market;
  }
  const median = times.toSorted((a, b) => a - b)[REPEATS >> 1]!;
  console.log(
    `500 names x ${sessions.length} sessions, ${rows} bars  min ${Math.min(...times).toFixed(0)} ms  median ${median.toFixed(0)} ms  ${(rows / median / 1000).toFixed(2)} M bars/s`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
