import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createArena } from '#kernels/engines/arena.js';
import { seededPanel, type Timing } from '../measure.js';
import type { TileRowsTask } from './tile-rows-thread.js';

/**
 * X'X by threads that share one memory, each with tile rows of equal area and no lock between them. Wall time means something on an
 * idle machine only; equal processor time on one and two threads says that nothing is lost by sharing.
 */
const ASSETS = 2000;
const OBSERVATIONS = 1260;
const REPEATS = 7;

const arena = createArena();
const x = arena.reserve(8 * OBSERVATIONS * ASSETS);
arena.view(x, OBSERVATIONS * ASSETS).set(seededPanel(OBSERVATIONS * ASSETS));
const out = arena.reserve(8 * ASSETS * ASSETS);

for (const threads of [1, 2]) {
  const workers = Array.from({ length: threads }, (_, part) => {
    const workerData: TileRowsTask = {
      memory: arena.memory,
      x,
      rows: OBSERVATIONS,
      columns: ASSETS,
      out,
      part,
      parts: threads,
      scratch: arena.reserve(8 * 2 ** 20),
    };
    return new Worker(new URL('./tile-rows-thread.js', import.meta.url), { workerData });
  });
  const times: number[] = [];
  let processorMs = Infinity;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const start = performance.now();
    const before = process.cpuUsage();
    const done = workers.map((worker) => once(worker, 'message'));
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    for (const worker of workers) worker.postMessage('go');
    await Promise.all(done);
    times.push(performance.now() - start);
    const { user, system } = process.cpuUsage(before);
    processorMs = Math.min(processorMs, (user + system) / 1000);
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
  const minMs = Math.min(...times);
  const rate = (OBSERVATIONS * ASSETS * ASSETS) / minMs / 1e6;
  console.log(
    `symmetricRankK ${OBSERVATIONS} x ${ASSETS} on ${threads} ${threads === 1 ? 'thread ' : 'threads'}  min ${minMs.toFixed(1)} ms wall  ${rate.toFixed(1)} GFLOP/s  ${processorMs.toFixed(1)} ms of processor`,
  );
  const timing: Timing = {
    kernel: 'symmetricRankK shared',
    size: `${threads} threads`,
    engine: 'wasm',
    minMs,
    medianMs: times.toSorted((a, b) => a - b)[REPEATS >> 1]!,
    rate,
    unit: 'GFLOP/s',
  };
  process.send?.(timing);
}
