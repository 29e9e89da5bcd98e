import { setTimeout } from 'node:timers/promises';
import { folderFiles } from '#market/sources/folder.js';
import { createLocations } from '#market/sources/locations.js';
import { prepareMarketProcess } from '#market/process/process-pool.js';
import { runMarketTask } from '#market/process/market-process.js';
import { createProblems } from '#market/content/problems.js';
import { servedMarket } from '#market/serving/served-markets.js';
import { threadMs, treeMs } from '../thread-time.js';
import { peakMegabytes } from './peak-memory.js';
import type { LoadReport } from './read-store.bench.js';

/**
 * A process that serves and loads a store some times, one version after the other, as a server does that is told to read it again.
 * Prepared, as a service is soon after its start, every load finds a process that waits to read; else the first has to start one.
 */

/** Time for the process of the next load to start, ms. */
const PAUSE_MS = 700;

const [folder, loads, isPrepared] = [process.argv[2]!, Number(process.argv[3]), process.argv[4] === 'prepared'];
if (isPrepared) {
  prepareMarketProcess();
  await setTimeout(PAUSE_MS);
}
let served: Awaited<ReturnType<typeof servedMarket>> | undefined;
for (let load = 0; load < loads; load++) {
  const watch = watchLoop();
  const before = treeMs(process.pid);
  const start = performance.now();
  const files = await folderFiles(folder, { tables: {}, mapping: null }, createLocations([folder]), createProblems());
  const result = await runMarketTask('readFiles', { files }, { load: { datasetId: 'bench', adjustment: 'none' } });
  if (result.kind !== 'accepted' || result.handle === null) throw new Error(JSON.stringify(result));
  served = await servedMarket(result.handle, '');
  const ms = performance.now() - start;
  const processor = treeMs(process.pid) - before;
  const panels = [...served.market.fields.values()].reduce((sum, { byteLength }) => sum + byteLength, 0) / (1 << 20);
  const report: LoadReport = {
    ms,
    processor,
    ...watch(),
    panels,
    peak: peakMegabytes(),
    rows: result.summary.rows.market,
  };
  process.send!(report); // forked by the benchmark
  await setTimeout(PAUSE_MS);
}
process.disconnect();

/** Longest time the event loop was away, and the most that its thread worked between two turns, ms. */
function watchLoop(): () => Pick<LoadReport, 'stall' | 'work'> {
  let [stall, work] = [0, 0];
  let [last, busy] = [performance.now(), threadMs()];
  const timer = setInterval(() => {
    stall = Math.max(stall, performance.now() - last - 5);
    work = Math.max(work, threadMs() - busy);
    busy = threadMs();
    last = performance.now();
  }, 5);
  return () => {
    clearInterval(timer);
    return { stall, work };
  };
}
