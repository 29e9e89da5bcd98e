import { Worker } from 'node:worker_threads';
import { createArena } from '#kernels/engines/arena.js';

/** What a thread needs to compute its tile rows of X'X on the memory that all of them share. */
export interface TileRows {
  readonly memory: WebAssembly.Memory;
  readonly x: number;
  readonly rows: number;
  readonly columns: number;
  readonly out: number;
  readonly first: number;
  readonly last: number;
  readonly scratch: number;
}

/** X'X by so many threads on one shared memory, each with tile rows of about equal area. */
export async function shareTileRows(panel: Float64Array, columns: number, workers: number): Promise<Float64Array> {
  const arena = createArena();
  const x = arena.reserve(panel.byteLength);
  arena.view(x, panel.length).set(panel);
  const out = arena.reserve(8 * columns * columns);
  arena.view(out, columns * columns).fill(0);
  const tiles = Math.ceil(columns / 4);
  const cuts = Array.from({ length: workers + 1 }, (_, k) => Math.round(tiles * (1 - Math.sqrt(1 - k / workers))));
  const tasks = cuts.slice(1).map((last, k): TileRows => ({ memory: arena.memory, x, rows: panel.length / columns, columns, out, first: cuts[k]!, last, scratch: arena.reserve(2 ** 20) }));
  await Promise.all(
    tasks.map(
      (task) =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(new URL('./tile-rows-thread.js', import.meta.url), { workerData: task });
          worker.on('error', reject).on('exit', () => resolve());
        }),
    ),
  );
  return arena.view(out, columns * columns).slice();
}
