import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCalendars } from '#market/serving/calendar-files.js';
import { runMarketTask } from '#market/process/market-process.js';
import { sessionsBetween } from '#services/datasets/synthetic-dataset.js';
import { benchMarket } from './synthetic-spec.js';

/** A synthetic market of 500 names and 20 years from the request to panels that can be served, written to disk on the way. */
const REPEATS = 3;
const folder = await mkdtemp(join(tmpdir(), 'divisor-bench-'));
const sessions = sessionsBetween(openCalendars().get('XNYS')!.sessions, '2000-01-01', '2019-12-31');
const spec = benchMarket({ sessions, listingsPerYear: 0.01 });
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
