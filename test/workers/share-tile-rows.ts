import { Worker } from 'node:worker_threads';
import { createArena } from '#kernels/engines/wasm-instance.js';

/** Input of a thread. The thread computes some tile rows of X'X in memory that all threads share. */
export interface TileRows {
  readonly memory: WebAssembly.Memory;
  readonly x: number;
  readonly rows: number;
  readonly columns: number;
  readonly out: number;
  /** Index of the part of the thread. All parts have about equal area. */
  readonly part: number;
  readonly parts: number;
  readonly scratch: number;
}

/** Computes X'X with several threads in shared memory. Each thread computes tile rows of about equal area. */
export async function shareTileRows(panel: Float64Array, columns: number, workers: number): Promise<Float64Array> {
  const arena = createArena();
  const x = arena.reserve(panel.byteLength);
  arena.view(x, panel.length).set(panel);
  const out = arena.reserve(8 * columns * columns);
  arena.view(out, columns * columns).fill(0);
  const tasks = Array.from({ length: workers }, (_, part): TileRows => ({
    memory: arena.memory,
    x,
    rows: panel.length / columns,
    columns,
    out,
    part,
    parts: workers,
    scratch: arena.reserve(2 ** 20),
  }));
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
